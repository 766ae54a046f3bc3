package report

import (
	"fmt"
	"path/filepath"
	"strings"
)

// problemBlocks list the refused inputs, each with its reason, and count the files
// that were passed over.
func problemBlocks(problems []Problem) document {
	d := refusedBlocks(problems)
	for _, p := range problems {
		if p.PassedOver > 0 {
			d = append(d, remark(stopped(p.sentence())+" sfstat inspect lists them."))
		}
	}
	return d
}

func refusedBlocks(problems []Problem) document {
	var b bullets
	for _, p := range problems {
		if p.PassedOver == 0 {
			b = append(b, p.sentence())
		}
	}
	if len(b) == 0 {
		return nil
	}
	return document{heading("Refused: " + counted(len(b), "input")), b}
}

// notRead says in one line what of the inputs was not read, and why: the first
// refused input, how many more, and the files that were passed over.
func notRead(problems []Problem) string {
	var parts []string
	refused, over := 0, 0
	for _, p := range problems {
		switch {
		case p.PassedOver > 0:
			over += p.PassedOver
			parts = append(parts, p.reason())
		case refused == 0:
			refused++
			parts = append([]string{shortened(filepath.Base(p.Path)+strings.TrimPrefix(p.sentence(), p.Path), 90)}, parts...)
		default:
			refused++
		}
	}
	if refused > 1 {
		parts[0] += fmt.Sprintf(", and %d more", refused-1)
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + ". sfstat inspect lists them"
}

// shortened is the first words of a text that fit.
func shortened(s string, most int) string {
	if columns(s) <= most {
		return s
	}
	out := ""
	for word := range strings.FieldsSeq(s) {
		if columns(out)+1+columns(word) > most-1 {
			break
		}
		out = strings.TrimSpace(out + " " + word)
	}
	return out + "…"
}

// sentence is the reason with the path in front, once.
func (p Problem) sentence() string {
	switch reason := p.reason(); {
	case strings.HasPrefix(reason, p.Path):
		return reason
	default:
		return p.Path + ": " + reason
	}
}

func (p Problem) reason() string {
	if p.Err == nil {
		return ""
	}
	return p.Err.Error()
}
