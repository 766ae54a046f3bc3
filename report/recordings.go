package report

import (
	"io"
	"strings"

	"github.com/sfstat/sfstat/doctor"
	"github.com/sfstat/sfstat/internal/glyph"
)

// Recordings writes what could be recorded on a machine: those that can be made first.
func (o Output) Recordings(list []doctor.Source) error {
	var b strings.Builder
	for _, ready := range []bool{true, false} {
		for _, s := range list {
			if s.Ready != ready {
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			mark := "no "
			if ready {
				mark = "yes"
			}
			text := s.Name + ": " + s.Found + ". Shows " + s.Shows + "."
			for i, line := range glyph.Wrap(glyph.Visible(text), min(o.Style.width(), glyph.ProseWidth)-5) {
				if i > 0 {
					mark = "   "
				}
				b.WriteString(mark + "  " + line + "\n")
			}
			for _, line := range s.Lines {
				b.WriteString("       " + glyph.Visible(line) + "\n")
			}
		}
	}
	_, err := io.WriteString(o.W, b.String())
	return err
}
