// Package web writes a page as one HTML file that needs no network: the words of
// a verdict (package report), the values of its charts (package page), and the
// script and style that draw them, which page/ui builds.
//
// Nothing of the input is markup: words are escaped, values are JSON in which "<"
// is written as an escape, and the script puts them into the page as text. A
// Content-Security-Policy admits the script and the style by their hashes, and no
// request to anywhere.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"

	"github.com/sfstat/sfstat/page"
	"github.com/sfstat/sfstat/report"
)

var (
	//go:embed page.html
	layout string
	//go:embed dist/page.js
	script string
	//go:embed dist/page.css
	style string

	parsed = template.Must(template.New("page").Parse(layout))
)

// mostVerdict is how long the packed JSON of a verdict may be before it is left out.
const mostVerdict = 2 << 20

// Document is what is written.
type Document struct {
	Version string // of the program
	Words   report.Fragments
	Page    *page.Page
	// Verdict writes the JSON that the page offers to save; nil: it offers none.
	Verdict func(io.Writer) error
}

// view is what the layout shows.
type view struct {
	Document
	Title, Policy string
	Status        []string
	Style         template.CSS
	Data, Script  template.JS
	Verdict       template.HTML
}

// Write writes the page.
func (d Document) Write(w io.Writer) error {
	packed, err := d.pack()
	if err != nil {
		return err
	}
	data, err := json.Marshal(struct {
		Lead int `json:"lead"`
		*page.Page
	}{d.Words.Lead, d.Page})
	if err != nil {
		return err
	}
	v := view{Document: d, Title: "sfstat", Policy: policy(), Style: template.CSS(style), Data: template.JS(data), Script: template.JS(script), Verdict: template.HTML(packed)}
	if d.Words.Lead < len(d.Words.Runs) {
		v.Title = d.Words.Runs[d.Words.Lead].Headline
	}
	for i := range d.Page.Runs {
		v.Status = append(v.Status, d.Page.Runs[i].Status)
	}
	return parsed.Execute(w, v)
}

// policy admits the page's own script and style, and nothing else.
func policy() string {
	return fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data: blob:; base-uri 'none'; form-action 'none'", hash(script), hash(style))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// pack returns the JSON of the verdict as gzip in base64, "" where it is too long.
func (d Document) pack() (string, error) {
	if d.Verdict == nil {
		return "", nil
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		err = d.Verdict(z)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil || b.Len() > mostVerdict {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}
