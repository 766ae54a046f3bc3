package trace

import (
	"fmt"
	"github.com/sfstat/sfstat/trace/input"
	"slices"
	"strconv"
	"strings"
)

// form is what the ranks of a window must agree on.
type form struct {
	schema       string
	world, accum int
	wait         DataWait
}

func (p *Part) form() form {
	return form{p.Schema.Hash(), p.WorldSize, max(1, p.Accumulation), p.DataWait}
}

// hasFormOf reports whether both parts have the same form.
func (p *Part) hasFormOf(q *Part) bool {
	return p.WorldSize == q.WorldSize && max(1, p.Accumulation) == max(1, q.Accumulation) &&
		p.DataWait == q.DataWait && p.Schema.Equal(q.Schema)
}

// agree keeps the parts of the form that most parts share and notes the rest.
func agree(parts []*Part) (kept []*Part, notes []input.Note) {
	if !slices.ContainsFunc(parts, func(p *Part) bool { return !p.hasFormOf(parts[0]) }) {
		return parts, nil // the usual case, without a digest of every schema
	}
	counts := make(map[form]int)
	for _, p := range parts {
		counts[p.form()]++
	}
	best := parts[0].form()
	for _, p := range parts {
		if f := p.form(); counts[f] > counts[best] {
			best = f
		}
	}
	others := make(map[input.NoteKind][]int)
	var differing *Part // in its stages
	for _, p := range parts {
		f := p.form()
		switch {
		case f == best:
			kept = append(kept, p)
		case f.schema != best.schema || f.wait != best.wait:
			others[input.NoteStagesDiffer] = append(others[input.NoteStagesDiffer], p.Rank.ID)
			differing = p
		case f.world != best.world:
			others[input.NoteWorldSizeChanged] = append(others[input.NoteWorldSizeChanged], p.Rank.ID)
		default:
			others[input.NoteAccumulationChanged] = append(others[input.NoteAccumulationChanged], p.Rank.ID)
		}
	}
	what := []struct {
		kind input.NoteKind
		text string
	}{
		{input.NoteWorldSizeChanged, "another world size"},
		{input.NoteAccumulationChanged, "another accumulation factor"},
	}
	for _, k := range what {
		if ranks := others[k.kind]; len(ranks) > 0 {
			notes = append(notes, input.Note{Kind: k.kind, Text: fmt.Sprintf("left out, with %s than the %d of this window: %s",
				k.text, len(kept), Ranks(ranks))})
		}
	}
	if ranks := others[input.NoteStagesDiffer]; len(ranks) > 0 {
		notes = append(notes, input.Note{Kind: input.NoteStagesDiffer, Text: stageDifferences(ranks, differing, kept[0])})
	}
	return kept, notes
}

// stageDifferences returns the differences of the stages of ranks p from ranks q.
func stageDifferences(ranks []int, p, q *Part) string {
	record, do, are := "record", "do", "are"
	if len(ranks) == 1 {
		record, do, are = "records", "does", "is"
	}
	without := func(a, b []string) string {
		var only []string
		for _, name := range a {
			if !slices.Contains(b, name) {
				only = append(only, strconv.Quote(name))
			}
		}
		return strings.Join(only, ", ")
	}
	more, fewer := without(p.Schema.Stages, q.Schema.Stages), without(q.Schema.Stages, p.Schema.Stages)
	what := record + " the wait for data of another step (data_wait)"
	switch {
	case more != "" && fewer != "":
		what = record + " " + more + " for " + fewer
	case more != "":
		what = record + " " + more + " too"
	case fewer != "":
		what = do + " not record " + fewer
	case !p.Schema.Equal(q.Schema):
		what = record + " the stages in another order"
	}
	return fmt.Sprintf("%s %s, and %s left out", Ranks(ranks), what, are)
}

func gatherFailed(parts []*Part) []int {
	var failed []int
	for _, p := range parts {
		if !p.GatherOK && !slices.Contains(failed, p.Rank.ID) {
			failed = append(failed, p.Rank.ID)
		}
	}
	return failed
}

// recorderNotes returns the notes of all parts, by rank, each once.
func recorderNotes(parts []*Part) []input.Note {
	var notes []input.Note
	seen := make(map[string]bool)
	for _, p := range parts {
		for _, text := range p.Notes {
			if !seen[text] {
				seen[text] = true
				notes = append(notes, input.Note{Kind: input.NoteRecorder, Text: text})
			}
		}
	}
	return notes
}
