package report

import (
	_ "embed"
	"strings"
	"sync"
	"text/template"
)

// sentencesText is what reports say, block by block; its first lines are about its form.
//
//go:embed sentences.txt
var sentencesText string

// sentences are the blocks by name. A block is parsed when it is asked for first: a report
// says few of them.
var sentences = sync.OnceValue(func() map[string]func() *template.Template {
	out := make(map[string]func() *template.Template)
	name, text := "", ""
	keep := func() {
		name, text := name, text
		out[name] = sync.OnceValue(func() *template.Template {
			return template.Must(template.New(name).Funcs(sentenceFunctions).Parse(text))
		})
	}
	for line := range strings.Lines(sentencesText) {
		body, indented := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case body == "" || body[0] == '#':
		case !indented:
			keep()
			name, text = body, ""
		case text == "" || strings.HasPrefix(body, "{{"):
			text += body
		default:
			text += " " + body
		}
	}
	keep()
	return out
})

// say is a sentence about a value; "" where no block has the name.
func say(name string, of any) string {
	parsed, ok := sentences()[name]
	if !ok {
		return ""
	}
	var out strings.Builder
	if err := parsed().Execute(&out, of); err != nil {
		panic(err) // a block asks for what its values do not have
	}
	return out.String()
}

// meaning explains a value of a closed set; one that has no block is named instead.
func meaning(kind string, v interface{ String() string }) string {
	if text := say(kind+" "+v.String(), v); text != "" {
		return text
	}
	return v.String()
}
