package parallel

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseLayout reads "dp=4,tp=2"; the sizes may come in any order. "" gives none.
func ParseLayout(text string) (l Layout, err error) {
	if text == "" {
		return l, nil
	}
	sizes := map[string]*int{"tp": &l.TP, "cp": &l.CP, "ep": &l.EP, "dp": &l.DP, "pp": &l.PP}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		size := sizes[strings.ToLower(strings.TrimSpace(name))]
		if !ok || size == nil {
			return Layout{}, fmt.Errorf("has %q, expected tp, cp, ep, dp or pp and a size, such as dp=4,tp=2", part)
		}
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil || n < 1 || n > 1<<20 {
			return Layout{}, fmt.Errorf("has %q, expected a size of 1 or more", part)
		}
		if *size != 0 {
			return Layout{}, fmt.Errorf("has %s twice", name)
		}
		*size = n
	}
	return l, nil
}
