package report

import (
	_ "embed"
	"strings"
	"sync"
	"text/template"

	"github.com/sfstat/sfstat/internal/table"
)

// sentencesText is what reports say, block by block; its first lines are about its form.
//
//go:embed sentences.txt
var sentencesText string

// blocks are the lines of each block, by its name.
var blocks = sync.OnceValue(func() map[string][]string {
	out, name := make(map[string][]string), ""
	for line := range strings.Lines(sentencesText) {
		body, indented := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case body == "" || body[0] == '#':
		case indented:
			out[name] = append(out[name], body)
		default:
			name = body
		}
	}
	return out
})

// parsed are the sentences that were said, by name: a report says few of them.
var parsed sync.Map // of string: *template.Template

// sentence returns the template of a block; "" where no block has the name.
func sentence(name string) string {
	text := ""
	for i, line := range blocks()[name] {
		if i > 0 && !strings.HasPrefix(line, "{{") {
			text += " "
		}
		text += line
	}
	return text
}

// say is a sentence about a value; "" where no block has the name.
func say(name string, of any) string {
	t, known := parsed.Load(name)
	if !known {
		text := sentence(name)
		if text == "" {
			return ""
		}
		t = template.Must(template.New(name).Funcs(sentenceFunctions).Parse(text))
		parsed.Store(name, t)
	}
	var out strings.Builder
	if err := t.(*template.Template).Execute(&out, of); err != nil {
		panic(err) // a block asks for what its values do not have
	}
	return out.String()
}

// told are several sentences about a value, without those that say nothing of it.
func told(of any, names ...string) (out bullets) {
	for _, name := range names {
		if text := say(name, of); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// tableOf is a table without rows.
func tableOf(name string) *table.Table { return table.Described(blocks()["table "+name]) }

// meaning explains a value of a closed set; one that has no block is named instead.
func meaning(kind string, v interface{ String() string }) string {
	if text := say(kind+" "+v.String(), v); text != "" {
		return text
	}
	return v.String()
}
