package main

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// shape is one way of writing a call: the lines from its comment to the next one's.
type shape struct {
	title    string
	file     string // from its folder on
	from, to int    // lines; to is the first that is no more of it
}

// readShapes reads the shapes of one folder: in its file, each comment at the margin after the imports begins one.
func readShapes(testdata, folder string) ([]shape, error) {
	path := filepath.Join(testdata, "shapes", folder, folder+".go")
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var all []shape
	for _, group := range file.Comments {
		at := fset.Position(group.Pos())
		if at.Column != 1 || group.Pos() < file.Name.Pos() {
			continue
		}
		if len(all) > 0 {
			all[len(all)-1].to = at.Line
		}
		all = append(all, shape{
			title: strings.TrimSpace(group.Text()),
			file:  lastTwo(path),
			from:  at.Line,
			to:    fset.Position(file.FileEnd).Line + 1,
		})
	}
	return all, nil
}
