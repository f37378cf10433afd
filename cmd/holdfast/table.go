package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// printTable writes rows for a terminal, their columns aligned.
func printTable(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// printMarkdown writes rows as a Markdown table, the first as its header.
func printMarkdown(w io.Writer, rows [][]string) error {
	line := func(cells []string) error {
		_, err := fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
		return err
	}
	for i, row := range rows {
		if err := line(row); err != nil {
			return err
		}
		if i == 0 {
			if _, err := fmt.Fprintf(w, "|%s\n", strings.Repeat("---|", len(row))); err != nil {
				return err
			}
		}
	}
	return nil
}
