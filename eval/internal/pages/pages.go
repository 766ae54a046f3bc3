// Package pages writes what the commands of the evaluation measured: tables in Markdown.
package pages

import (
	"fmt"
	"html/template"
	"io"
	"os"
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

// Main is a command of the evaluation.
func Main(name string, run func(args []string, stdout io.Writer) error) {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// Fill is a page: a template, and what it says of itself.
func Fill(text string, page any) func(io.Writer) error {
	return func(w io.Writer) error { return template.Must(template.New("page").Parse(text)).Execute(w, page) }
}

// Write writes a file, or without a name to stdout.
func Write(name string, stdout io.Writer, write func(io.Writer) error) error {
	if name == "" {
		return write(stdout)
	}
	return atomicfile.WriteFile(name, write)
}
