package main

import (
	"strings"
)

// suggestion is "; did you mean …?" with the candidate nearest to what was
// typed, or nothing when none is near: more than every third letter would have
// to change. The beginning of a word is near to it.
func suggestion(typed string, candidates []string, dashes string) string {
	best, distance := "", max(1, len(typed)/3)+1
	for _, c := range candidates {
		d := editDistance(strings.ToLower(typed), c)
		if len(typed) >= 2 && strings.HasPrefix(c, typed) {
			d = 1
		}
		if d < distance {
			best, distance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + dashes + best + "?"
}

// editDistance is the least number of letters inserted, removed, replaced or
// swapped with their neighbour that turns a into b (optimal string alignment).
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, last := make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := range s {
		row := make([]int, len(t)+1)
		row[0] = i + 1
		for j := range t {
			cost := 1
			if s[i] == t[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(t)]
}

// orList writes choices as a person would: "text, json or csv".
func orList(choices []string) string {
	if len(choices) < 2 {
		return strings.Join(choices, "")
	}
	n := len(choices) - 1
	return strings.Join(choices[:n], ", ") + " or " + choices[n]
}
