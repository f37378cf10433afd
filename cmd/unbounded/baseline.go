package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A baseline is the findings that a repository had on the day it adopted the rules: a line each, without its number,
// so that an edit above does not make it new. Files are relative to the baseline's own folder.
const baselineHeader = "# What unbounded found on the day it came. Made by -update; it should only get shorter.\n"

// baselineLine is the line of a finding.
func baselineLine(f finding, dir, baselineDir string) string {
	file := f.File
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	return below(baselineDir, file) + ": " + f.Message
}

func writeBaseline(path, dir string, found []finding) error {
	text := bytes.NewBufferString(baselineHeader)
	var lines []string
	for _, f := range found {
		lines = append(lines, baselineLine(f, dir, baselineDir(path, dir)))
	}
	slices.Sort(lines)
	for _, l := range lines {
		fmt.Fprintln(text, l)
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

// compareBaseline takes the findings that the baseline has out of found, and counts the lines that are not found any
// more.
func compareBaseline(path, dir string, found []finding) (fresh []finding, gone int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	known := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" && !strings.HasPrefix(line, "#") {
			known[line]++
			gone++
		}
	}
	for _, f := range found {
		line := baselineLine(f, dir, baselineDir(path, dir))
		if known[line] == 0 {
			fresh = append(fresh, f)
			continue
		}
		known[line]--
		gone--
	}
	return fresh, gone, nil
}

func baselineDir(path, dir string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Dir(path)
}
