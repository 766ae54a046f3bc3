package report

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
)

// problemBlocks returns a list of the refused inputs, each with its reason, and the number of files that were passed over.
func problemBlocks(problems []Problem) document {
	d := refusedBlocks(problems)
	for _, p := range problems {
		if len(p.PassedOver) > 0 {
			d = append(d, remark(addStop(p.sentence())+" sfstat inspect lists them."))
		}
	}
	return d
}

func refusedBlocks(problems []Problem) document {
	var b bullets
	for _, p := range problems {
		if len(p.PassedOver) == 0 {
			b = append(b, p.sentence())
		}
	}
	return section("Refused: "+table.Counted(len(b), "input"), b)
}

// unreadLine returns in one line which inputs were not read, and why: the first refused input, how many more, and the files that
// were passed over.
func unreadLine(problems []Problem) string {
	var parts []string
	refused := 0
	over := make(map[string]int)
	for _, p := range problems {
		switch {
		case len(p.PassedOver) > 0 && p.Err != nil:
			parts = append(parts, p.Reason())
		case len(p.PassedOver) > 0:
			for kind, n := range p.PassedOver {
				over[kind] += n
			}
		case refused == 0:
			refused++
			parts = append([]string{shorten(filepath.Base(p.Path)+strings.TrimPrefix(p.sentence(), p.Path), 90)}, parts...)
		default:
			refused++
		}
	}
	if refused > 1 {
		parts[0] += fmt.Sprintf(", and %d more", refused-1)
	}
	if len(over) > 0 {
		parts = append(parts, passedOver(over))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + ". sfstat inspect lists them"
}

// passedOver counts files by what they are.
func passedOver(kinds map[string]int) string {
	n := 0
	var each []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		n += kinds[kind]
		each = append(each, fmt.Sprintf("%d × %s", kinds[kind], kind))
	}
	return table.Counted(n, "file") + " passed over: " + strings.Join(each, ", ")
}

// shorten returns the first words of a text that fit.
func shorten(s string, most int) string {
	if glyph.Columns(s) <= most {
		return s
	}
	return glyph.Wrap(s, most-1)[0] + "…"
}

// sentence returns the reason after the path, which appears once.
func (p Problem) sentence() string {
	switch reason := p.Reason(); {
	case strings.HasPrefix(reason, p.Path):
		return reason
	default:
		return p.Path + ": " + reason
	}
}

// Reason returns why an input was refused, or which files of a folder were passed over.
func (p Problem) Reason() string {
	switch {
	case p.Err != nil:
		return p.Err.Error()
	case len(p.PassedOver) > 0:
		return passedOver(p.PassedOver)
	}
	return ""
}
