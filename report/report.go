package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/publish"
	"github.com/sfstat/sfstat/trace/enum"
)

// Format is how a report is written.
type Format uint8

// The formats.
const (
	Text Format = iota
	JSON
	CSV
	Markdown
	LaTeX  // of Tables alone
	GitHub // the summary of a job
)

var formatNames = [...]string{"text", "json", "csv", "markdown", "latex", "github"}

func (f Format) String() string { return enum.Name(formatNames[:], f) }

// UnmarshalText reads the name of a format; "md" is Markdown.
func (f *Format) UnmarshalText(text []byte) error {
	for i, name := range formatNames {
		if string(text) == name || i == int(Markdown) && string(text) == "md" {
			*f = Format(i)
			return nil
		}
	}
	return fmt.Errorf("format is %q, expected one of %s", text, strings.Join(formatNames[:], ", "))
}

// Style is how text looks. The zero Style has no colour and 80 columns; other
// formats ignore it.
type Style struct {
	Color bool // by SGR escape sequences, sixteen colours
	Width int  // columns; 0 means 80, less than 40 is taken as 40
	// Verbose shows the evidence, labels and cuts of a verdict too.
	Verbose bool
	// Labels shows the labels alone.
	Labels bool
	// Explain shows a paragraph instead of a verdict.
	Explain bool
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
	Path string
	Err  error
	// PassedOver counts the files of the folder that are no inputs, by what they are;
	// empty: Path was refused.
	PassedOver map[string]int
}

// Output is where a result goes, how it is written, and what was refused of its
// inputs. Its methods write one result each.
type Output struct {
	W        io.Writer
	Format   Format
	Style    Style
	Problems []Problem
}

// Verdict writes v and the refused inputs. CSV has no place for the latter.
func (o Output) Verdict(v *diagnose.Verdict) error {
	return o.writeWhole(forms{
		json: func() any { return publish.VerdictOf(v, problemsOf(o.Problems), words) },
		rows: func() *publish.Rows {
			return publish.FindingRows(each(v.All(), func(r diagnose.RunVerdict) publish.Run { return publish.RunOf(&r, words) }))
		},
		document: func() document { return verdictDocument(v, o.Problems, o.Style) },
	})
}

// Frontier writes the accounts and the refused inputs. CSV has no place for
// the latter.
func (o Output) Frontier(results []*frontier.Result) error {
	return o.write(forms{
		json: func() any { return publish.WindowsOf(results, problemsOf(o.Problems), words.WindowWords) },
		rows: func() *publish.Rows {
			return publish.StageRows(publish.WindowsOf(results, nil, words.WindowWords).Windows)
		},
		document: func() document { return frontierDocument(results) },
	})
}

// forms are those of one result: what is published as JSON, rows of CSV, and a document for Text and Markdown.
type forms struct {
	json     func() any // of package publish
	rows     func() *publish.Rows
	document func() document
}

// write writes one of the forms, and what was refused behind it. CSV has no place
// for that.
func (o Output) write(f forms) error {
	whole := f
	whole.document = func() document { return append(f.document(), problemBlocks(o.Problems)...) }
	return o.writeWhole(whole)
}

// writeWhole writes one of the forms of a result that says itself what was refused,
// or has no inputs that might be.
func (o Output) writeWhole(f forms) error {
	switch o.Format {
	case JSON:
		return publish.Write(o.W, f.json())
	case CSV:
		return f.rows().Write(o.W)
	}
	return o.show(f.document())
}

// show renders the whole document before the first byte goes out.
func (o Output) show(d document) error {
	var out bytes.Buffer
	switch o.Format {
	case Text:
		newTextWriter(&out, o.Style).document(d)
	case Markdown:
		writeMarkdown(&out, d)
	case GitHub:
		writeGitHub(&out, d)
	default:
		return fmt.Errorf("report: %v is not a format", o.Format)
	}
	_, err := o.W.Write(out.Bytes())
	return err
}
