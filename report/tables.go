package report

import (
	"bytes"

	"github.com/sfstat/sfstat/internal/table"
)

// Tables writes tables one below the other with their titles and notes, in any format but
// JSON.
func (o Output) Tables(list ...*table.Table) error {
	var out bytes.Buffer
	switch o.Format {
	case CSV:
		for i, t := range list {
			if i > 0 {
				out.WriteByte('\n')
			}
			if err := t.CSV(&out); err != nil {
				return err
			}
		}
	case LaTeX:
		for _, t := range list {
			t.LaTeX(&out)
		}
	default:
		var d document
		for _, t := range list {
			if t.Title != "" {
				d = append(d, heading(t.Title))
			}
			d = append(d, t)
			for _, n := range t.Notes {
				d = append(d, prose(n))
			}
		}
		return o.show(d)
	}
	_, err := o.W.Write(out.Bytes())
	return err
}
