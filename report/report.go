package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/frontier"
)

// Format is how a report is written.
type Format uint8

// The formats.
const (
	Text Format = iota
	JSON
	CSV
	Markdown
	LaTeX // of Tables alone
)

var formatNames = [...]string{"text", "json", "csv", "markdown", "latex"}

func (f Format) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return fmt.Sprintf("format(%d)", f)
}

// ParseFormat is the inverse of String; "md" is Markdown.
func ParseFormat(s string) (Format, error) {
	if s == "md" {
		return Markdown, nil
	}
	for i, name := range formatNames {
		if s == name {
			return Format(i), nil
		}
	}
	return 0, fmt.Errorf("format is %q, expected one of %s", s, strings.Join(formatNames[:], ", "))
}

// Color says whether text may carry colour.
type Color uint8

const (
	NoColor Color = iota
	ANSI          // SGR escape sequences, sixteen colours
)

// Style is how text looks. The zero Style has no colour and 80 columns; other
// formats ignore it.
type Style struct {
	Color Color
	Width int // columns; 0 means 80, less than 40 is taken as 40
	// Verbose shows the evidence, labels and cuts of a verdict too.
	Verbose bool
	// Labels shows the labels alone.
	Labels bool
}

func (s Style) width() int {
	if s.Width == 0 {
		return 80
	}
	return max(s.Width, 40)
}

// Problem is an input that was refused, or a folder of which files were passed
// over.
type Problem struct {
	Path       string
	Err        error
	PassedOver int // files; 0: Path was refused
}

// Input is what is known about the inputs beside their analysis. The zero
// Input says that all were read.
type Input struct {
	Problems []Problem
}

// Verdict writes v and the refused inputs. CSV has no place for the latter.
func (in Input) Verdict(w io.Writer, v *diagnose.Verdict, f Format, s Style) error {
	return outputs{
		func() any { return verdictOf(v, in.Problems) },
		func() *table { return suspectRows(v) },
		func() document { return verdictDocument(v, in.Problems, s) },
	}.write(w, f, s)
}

// Frontier writes the accounts and the refused inputs. CSV has no place for
// the latter.
func (in Input) Frontier(w io.Writer, results []*frontier.Result, f Format, s Style) error {
	return outputs{
		func() any { return frontierOf(results, in.Problems) },
		func() *table { return stageRows(results) },
		func() document { return frontierDocument(results, in.Problems) },
	}.write(w, f, s)
}

// outputs are the forms of one result: JSON, rows of CSV, and a document for
// Text and Markdown.
type outputs struct {
	json     func() any
	rows     func() *table
	document func() document
}

func (o outputs) write(w io.Writer, f Format, s Style) error {
	switch f {
	case JSON:
		return WriteJSON(w, o.json())
	case CSV:
		return writeCSV(w, o.rows())
	}
	return write(w, o.document(), f, s)
}

// write renders the whole document before the first byte goes out.
func write(w io.Writer, d document, f Format, s Style) error {
	var out bytes.Buffer
	switch f {
	case Text:
		newTextWriter(&out, s).document(d)
	case Markdown:
		writeMarkdown(&out, d)
	default:
		return fmt.Errorf("report: %v is not a format", f)
	}
	_, err := w.Write(out.Bytes())
	return err
}
