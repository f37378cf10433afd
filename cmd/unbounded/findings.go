package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// finding is one diagnostic, as -json prints it.
type finding struct {
	Rule    string `json:"rule"`
	File    string `json:"file"` // relative to the working directory, if it is below it
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
}

// readFindings reads what go vet -json prints: for each package an object of its analyzers' diagnostics. A file that
// belongs to several packages counts once.
func readFindings(r io.Reader, dir string) ([]finding, error) {
	var all []finding
	for dec := json.NewDecoder(r); ; {
		var packages map[string]map[string]json.RawMessage
		if err := dec.Decode(&packages); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading what go vet prints: %w", err)
		}
		for _, analyzers := range packages {
			for _, raw := range analyzers {
				found, err := readDiagnostics(raw, dir)
				if err != nil {
					return nil, err
				}
				all = append(all, found...)
			}
		}
	}
	slices.SortFunc(all, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column, cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(all), nil
}

func readDiagnostics(raw json.RawMessage, dir string) ([]finding, error) {
	var failed struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(raw, &failed) == nil && failed.Error != "" {
		return nil, errors.New(failed.Error)
	}
	var diagnostics []struct{ Category, Posn, Message string }
	if err := json.Unmarshal(raw, &diagnostics); err != nil {
		return nil, fmt.Errorf("reading what go vet prints: %w", err)
	}
	var all []finding
	for _, d := range diagnostics {
		f := finding{Rule: d.Category, Message: d.Message}
		f.File, f.Line, f.Column = position(d.Posn)
		f.File = below(dir, f.File)
		all = append(all, f)
	}
	return all, nil
}

// position takes file:line:column apart.
func position(s string) (file string, line, column int) {
	numbers := [2]int{}
	for i := range numbers {
		colon := strings.LastIndexByte(s, ':')
		n, err := strconv.Atoi(s[colon+1:])
		if colon < 0 || err != nil {
			break
		}
		numbers[i], s = n, s[:colon]
	}
	return s, numbers[1], numbers[0]
}

// below is the path of file relative to dir, with slashes; a file elsewhere keeps its path.
func below(dir, file string) string {
	rel, err := filepath.Rel(dir, file)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(file)
	}
	return filepath.ToSlash(rel)
}
