// Package pages writes what the commands of the evaluation measured: tables in Markdown.
package pages

import (
	"io"
	"strings"

	"github.com/sfstat/sfstat/internal/atomicfile"
)

// Table is rows in Markdown, the first its head.
func Table(rows ...[]string) string {
	var out strings.Builder
	for i, row := range rows {
		out.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			out.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
		}
	}
	return out.String()
}

// Write writes a file, or without a name to stdout.
func Write(name string, stdout io.Writer, write func(io.Writer) error) error {
	if name == "" {
		return write(stdout)
	}
	return atomicfile.WriteFile(name, write)
}
