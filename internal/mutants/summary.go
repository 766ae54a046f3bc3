package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// summary writes how many mutants of each package were found, and those that were not.
func summary(results []result) string {
	var b strings.Builder
	counts, all := make(map[string]*[timedOut + 1]int), &[timedOut + 1]int{}
	var folders []string
	for _, r := range results {
		if counts[r.folder()] == nil {
			counts[r.folder()] = &[timedOut + 1]int{}
			folders = append(folders, r.folder())
		}
		counts[r.folder()][r.fate]++
		all[r.fate]++
	}
	slices.Sort(folders)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, c *[timedOut + 1]int) {
		n := c[alive] + c[killed] + c[timedOut]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%.0f %%\t\n", name, n, c[killed], c[timedOut], c[alive], 100*float64(n-c[alive])/float64(n))
	}
	fmt.Fprintln(w, "package\tdrawn\tkilled\ttimed out\talive\tfound\t")
	for _, f := range folders {
		row(f, counts[f])
	}
	row("all", all)
	_ = w.Flush() // a strings.Builder takes all
	left := slices.DeleteFunc(slices.Clone(results), func(r result) bool { return r.fate != alive })
	slices.SortFunc(left, func(a, b result) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.number, b.number), cmp.Compare(a.To, b.To))
	})
	if len(left) > 0 {
		b.WriteString("\nalive:\n")
	}
	for _, r := range left {
		fmt.Fprintln(&b, r.mutant)
	}
	return b.String()
}
