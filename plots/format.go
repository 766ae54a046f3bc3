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

// String is the name of the format, which files end in.
func (f Format) String() string { return enum.Name(formatNames[:], f) }

// ParseFormat is the inverse of String.
func ParseFormat(name string) (Format, error) {
	return enum.Parse[Format]("format of a figure", formatNames[:], name)
}

// FormatOf is the format that the name of a file ends in, in any case.
func FormatOf(path string) (Format, error) {
	ending := filepath.Ext(path)
	f, err := ParseFormat(strings.ToLower(strings.TrimPrefix(ending, ".")))
	if err != nil {
		return 0, fmt.Errorf("%s ends in %q, expected .%s", path, ending, strings.Join(formatNames[:], ", ."))
	}
	return f, nil
}
