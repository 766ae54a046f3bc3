package plots

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sfstat/sfstat/trace/enum"
)

// Format is a format of files.
type Format uint8

const (
	PNG Format = iota // 300 dots per inch
	SVG
	PDF
	formatCount
)

var formatNames = [formatCount]string{"png", "svg", "pdf"}

// String returns the name of the format, which files end in.
func (f Format) String() string { return enum.Name(formatNames[:], f) }

// UnmarshalText undoes String.
func (f *Format) UnmarshalText(name []byte) (err error) {
	*f, err = enum.Parse[Format]("format of a figure", formatNames[:], string(name))
	return err
}

// FormatOf returns the format that the name of a file ends in, in any case.
func FormatOf(path string) (f Format, err error) {
	ending := filepath.Ext(path)
	if err := f.UnmarshalText([]byte(strings.ToLower(strings.TrimPrefix(ending, ".")))); err != nil {
		return 0, fmt.Errorf("%s ends in %q, expected .%s", path, ending, strings.Join(formatNames[:], ", ."))
	}
	return f, nil
}
