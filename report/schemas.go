package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/sfstat/sfstat/publish"
)

// SchemaNames returns the names of the published documents, in order.
func SchemaNames() []string {
	return each(publish.Forms, func(f publish.Form) string { return f.Name })
}

// Schemas writes the names of the published documents, and what each is.
func (o Output) Schemas() error {
	var out strings.Builder
	for _, f := range publish.Forms {
		fmt.Fprintf(&out, "%-13s  %s\n", f.Name, f.Doc)
	}
	_, err := io.WriteString(o.W, out.String())
	return err
}

// Schema writes the JSON Schema of a published document.
func (o Output) Schema(name string) error { return publish.WriteSchema(o.W, name) }
