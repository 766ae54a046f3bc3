package metrics

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

var inLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// Text writes the format of Prometheus, version 0.0.4: all families, also those without samples.
func Text(samples []Sample) []byte {
	var of [len(families)]bytes.Buffer
	for _, s := range samples {
		b := &of[s.Family]
		b.WriteString(families[s.Family].name)
		for i, l := range s.Labels {
			b.WriteByte("{,"[min(i, 1)])
			b.WriteString(l.Name + `="` + inLabel.Replace(l.Value) + `"`)
		}
		if len(s.Labels) > 0 {
			b.WriteByte('}')
		}
		b.WriteString(" " + strconv.FormatFloat(s.Value, 'g', -1, 64) + "\n")
	}
	var out bytes.Buffer
	for i, f := range families {
		kind := "gauge"
		if f.counter {
			kind = "counter"
		}
		fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, kind)
		out.Write(of[i].Bytes())
	}
	return out.Bytes()
}
