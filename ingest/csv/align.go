package csv

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// alignColumns gives all ranks the stages that most ranks have, in their order. Columns of other files may differ in
// order and case, and may be more. A rank that lacks a stage stays unchanged. The notes name columns left out.
func alignColumns(parts []*trace.Part) (notes []input.Note) {
	form := func(p *trace.Part) string { return strings.Join(p.Schema.Stages, "\x00") }
	count := make(map[string]int)
	most := 0
	for _, p := range parts {
		count[form(p)] += p.Steps()
		most = max(most, count[form(p)])
	}
	if len(count) < 2 {
		return nil
	}
	usual := parts[slices.IndexFunc(parts, func(p *trace.Part) bool { return count[form(p)] == most })].Schema
	left := make(map[string][]int) // ranks, by the stages that are left out
	for _, p := range parts {
		places, more := placesOf(usual.Stages, p.Schema.Stages)
		if p.Schema.Equal(usual) || places == nil {
			continue
		}
		own, n := p.Durations, len(p.Schema.Stages)
		p.Durations = make([]int64, 0, p.Steps()*len(places))
		for t := 0; t < len(own); t += n {
			for _, i := range places {
				p.Durations = append(p.Durations, own[t+i])
			}
		}
		p.Schema.Stages = usual.Stages
		if names := strings.Join(quoteNames(more), ", "); names != "" && !slices.Contains(left[names], p.Rank.ID) {
			left[names] = append(left[names], p.Rank.ID)
		}
	}
	for names, ranks := range left {
		have, are := "have", "are"
		if len(ranks) == 1 {
			have = "has"
		}
		if !strings.Contains(names, ", ") {
			are = "is"
		}
		notes = append(notes, input.Note{Kind: input.NoteColumnsIgnored, Text: fmt.Sprintf("%s %s %s beside the stages of the others, which %s left out", trace.Ranks(ranks), have, names, are)})
	}
	slices.SortFunc(notes, func(a, b input.Note) int { return strings.Compare(a.Text, b.Text) })
	return notes
}

// placesOf returns the places of stages among others, by name without case, and the names of the rest; nil if one is
// missing.
func placesOf(stages, among []string) (places []int, more []string) {
	for _, name := range stages {
		i := slices.Index(among, name)
		if i < 0 {
			i = slices.IndexFunc(among, func(other string) bool { return normalName(other) == normalName(name) })
		}
		if i < 0 || slices.Contains(places, i) {
			return nil, nil
		}
		places = append(places, i)
	}
	for i, name := range among {
		if !slices.Contains(places, i) {
			more = append(more, name)
		}
	}
	return places, more
}

// alignNumbers brings the steps of ranks that count from another number than most to the numbers of these, where they are the same steps.
func alignNumbers(parts []*trace.Part) []input.Note {
	ranks := make([]ingest.NumberedSteps, len(parts))
	seen := make(map[int]bool)
	for i, p := range parts {
		if seen[p.Rank.ID] || p.Run != parts[0].Run || p.Steps() != parts[0].Steps() {
			return nil // of several stretches, or runs
		}
		seen[p.Rank.ID] = true
		ranks[i] = ingest.NumberedSteps{Rank: p.Rank.ID, First: p.FirstStep}
	}
	if !slices.ContainsFunc(ranks, func(r ingest.NumberedSteps) bool { return r.First != ranks[0].First }) {
		return nil
	}
	for i, p := range parts {
		ranks[i].Lengths = lengthsOf(p)
	}
	excess, notes := ingest.AlignNumbers(ranks)
	for i, by := range excess {
		parts[i].FirstStep -= by
		for c := range parts[i].Side {
			for k := range parts[i].Side[c].Samples {
				parts[i].Side[c].Samples[k].Step -= by
			}
		}
	}
	return notes
}

// lengthsOf returns how long each step of a rank took: its wall time, else the sum of its stages.
func lengthsOf(p *trace.Part) []int64 {
	if p.Wall != nil {
		return p.Wall
	}
	n := len(p.Schema.Stages)
	out := make([]int64, p.Steps())
	for t := range out {
		for _, d := range p.Durations[t*n : (t+1)*n] {
			out[t] += d
		}
	}
	return out
}
