package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/nccllog"
)

// noteInputs notes what a command line names for reading, and refuses at once
// an output that is one of these.
func (p *program) noteInputs(c *cli.Context) error {
	p.outputs.inPlace = c.Bool("in-place")
	p.outputs.reads(c.Args...)
	for _, f := range c.Command.Flags {
		if of := f.Value(); f.In == forInput && (of == "FILE" || of == "PATH") {
			p.outputs.reads(c.String(f.Name))
			p.outputs.reads(c.List(f.Name)...)
		}
	}
	if err := drawable(c.String("plot")); err != nil {
		return err
	}
	if err := p.outputs.refuse(c.String("output")); err != nil {
		return err
	}
	return suits(c)
}

// writtenAs are the formats of results by the extensions that files of them have;
// "" for files that another program writes.
var writtenAs = map[string]string{".txt": "text", ".json": "json", ".csv": "csv", ".md": "md", ".html": "html", ".htm": "html",
	".parquet": "", ".pdf": "", ".png": "", ".svg": "", ".xlsx": ""}

// suits refuses a file for a result whose name says that it holds something else.
func suits(c *cli.Context) error {
	path, as := c.String("output"), c.String("format")
	said, known := writtenAs[strings.ToLower(filepath.Ext(path))]
	formats := c.Command.Flag("format")
	switch {
	case path == "" || !known || c.Command.Name == "batch": // whose rows go there, and not what it says of them
		return nil
	case formats != nil && slices.Contains(formats.Choices, "csv"):
		if said != as && slices.Contains(formats.Choices, said) {
			return badUsage("-o %s: what is written is %s, add --format %s or name the file otherwise", path, as, said)
		}
	case c.Command.Name == "report":
		as = "html"
	default:
		return nil
	}
	if said != as {
		return badUsage("-o %s: what is written is %s, name the file otherwise", path, as)
	}
	return nil
}

// reads notes what is read, by whatever names; what is no file has no place in
// the list.
func (o *outputs) reads(paths ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.inputs = append(o.inputs, paths...)
}

// forget drops what was read, before all of it is read anew.
func (o *outputs) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.inputs = nil
}

// refuse returns an error where path is, also through links, an input.
func (o *outputs) refuse(path string) error {
	out := regular(path)
	if out == nil || o.inPlace {
		return nil
	}
	for _, name := range o.inputs {
		if in := regular(name); in != nil && os.SameFile(in, out) {
			as := ""
			if name != path {
				as = ", as " + name
			}
			return badUsage("%s is read%s, and what is read is not overwritten: name another output", path, as)
		}
	}
	return nil
}

// regular returns the information on a plain file, by whatever name; nil where the path leads elsewhere.
func regular(path string) fs.FileInfo {
	if path == "" || path == ingest.Stdin {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return info
	}
	return nil
}

// keepRecording refuses to replace a recording by a report: whoever forgets the
// name in "-o rank*.jsonl" names the first of the inputs.
func keepRecording(path string) error {
	info := regular(path)
	if info == nil || info.Size() == 0 {
		return nil
	}
	if as := recording(path); as != "" {
		return badInput(fmt.Errorf("%s holds a recording (%s), which a report does not replace: name another output, or remove it first", path, as))
	}
	return nil
}

// recording returns the kind of recording in a file, "" for any other file.
func recording(path string) string {
	r, err := auto.Open([]string{path}, auto.Options{Kinds: auto.Windows | auto.Operators | auto.Devices})
	if err != nil {
		return ""
	}
	defer r.Close()
	switch as := r.Inputs()[0].Format; as {
	case auto.SQLite, auto.Kineto, auto.InspectorDump:
		return as.String()
	case auto.NCCLLog:
		if src, err := ingest.Open(path, ingest.Limits{}); err == nil {
			defer src.Close()
			if head, _ := src.Peek(16 << 10); nccllog.Recognise(head) {
				return as.String()
			}
		}
	default:
		if _, err := r.Next(); err == nil {
			return as.String()
		}
	}
	return ""
}
