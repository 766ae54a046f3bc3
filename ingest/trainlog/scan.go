package trainlog

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Regular expressions read 7 MB/s of text, so they are held against the places alone where what they look for may be.
var (
	stepWord = regexp.MustCompile(`(?i)\b(?:global_step|train_step|step|iteration|iter)s?\b["']?\s*[:=#]?\s*\[?\s*(\d{1,15})\b`)
	rankWord = regexp.MustCompile(`(?i)\[rank[ :=_]*(\d{1,7})\]|\brank[ :=]+(\d{1,7})\b`)
	amount   = regexp.MustCompile(`^\s*(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*(?i:(ms|us|s|sec|seconds))?(?:[\s,|)\]}]|$)`)
)

// near is the number that an expression finds around one of some words, where they are not too many.
func near(line []byte, find *regexp.Regexp, words ...string) (n int64, ok bool) {
	const before, behind, most = 16, 48, 64
	for at, tried := 0, 0; at < len(line) && tried < most; at++ {
		if !slices.ContainsFunc(words, func(w string) bool { return bytes.HasPrefix(line[at:], []byte(w)) }) {
			continue
		}
		if m := find.FindSubmatch(line[max(0, at-before):min(len(line), at+behind)]); m != nil {
			n, err := strconv.ParseInt(string(bytes.Join(m[1:], nil)), 10, 64)
			return n, err == nil
		}
		tried++
	}
	return 0, false
}

// stepOf is the number of the step: "step 12", "iteration: [12", "Steps=12".
func stepOf(line []byte) (step int64, ok bool) {
	return near(line, stepWord, "tep", "ter", "TEP", "TER")
}

// rankIn is the rank that a line tells: "[RANK 12]", "rank=12".
func rankIn(line []byte) (rank int, ok bool) {
	n, ok := near(line, rankWord, "ank", "ANK")
	return int(n), ok
}

// timing is a name with a number: "elapsed time per iteration (ms): 1147.6", "time=3ms".
type timing struct {
	name, number, unit string // the unit in lower case; "" where none is said
}

// nextTiming is the first timing of a line, and what is behind it; ok is false where there is none.
func nextTiming(line []byte) (t timing, rest []byte, ok bool) {
	for at := bytes.IndexAny(line, ":="); at >= 0; {
		value := line[at+1:]
		if m := amount.FindSubmatchIndex(value[:min(len(value), 64)]); m != nil {
			t.number = string(value[m[2]:m[3]])
			if m[4] >= 0 {
				t.unit = strings.ToLower(string(value[m[4]:m[5]]))
			}
			if name, unit := nameOf(line[:at]); name != "" {
				t.name, t.unit = name, unit+t.unit
				return t, value[m[1]:], true
			}
		}
		next := bytes.IndexAny(value, ":=")
		if at += 1 + next; next < 0 {
			break
		}
	}
	return timing{}, nil, false
}

// nameOf is the name that text ends with, in lower case, and the unit in parentheses behind it.
func nameOf(text []byte) (name, unit string) {
	const around = " \t\"'"
	text = bytes.TrimRight(text[max(0, len(text)-80):], around)
	if open := bytes.LastIndexByte(text, '('); open >= 0 && text[len(text)-1] == ')' {
		if unit = strings.ToLower(string(text[open+1 : len(text)-1])); !slices.Contains([]string{"ms", "us", "s", "sec"}, unit) {
			return "", ""
		}
		text = bytes.TrimRight(text[:open], around)
	}
	begin := bytes.LastIndexFunc(text, func(r rune) bool { return !('a' <= r|0x20 && r|0x20 <= 'z' || strings.ContainsRune("_/ ", r)) })
	return strings.ToLower(string(text[begin+1:])), unit
}
