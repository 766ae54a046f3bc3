package publish

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/crosscheck"
)

// Sources is what several recorders say of one run: sfstat campaign sources.
type Sources struct {
	Schema   string                 `json:"schema" doc:"name and version of this form"`
	Headline string                 `json:"headline" doc:"the answer in one sentence"`
	Agree    bool                   `json:"agree" doc:"every source has the stages to look into of the first, and no share differs by more than tie_tolerance"`
	Steps    int                    `json:"steps" doc:"steps compared: those that all sources have"`
	Ranks    []int                  `json:"ranks" doc:"ranks compared: those that all sources have"`
	Match    Name[crosscheck.Match] `json:"matched_by" doc:"how steps were matched"`
	Tau      *float64               `json:"tau" doc:"part of the exposed time that the stages to look into make up"`
	Tie      *float64               `json:"tie_tolerance" doc:"shares this close are a tie"`
	Stages   []string               `json:"stages" doc:"the stages of all sources, in the order of the first"`
	Accounts []SourcesAccount       `json:"sources" doc:"the sources, in the order given"`
	Doubts   []string               `json:"doubts" doc:"what else differs, and what was left out, as sentences"`
}

// SourcesAccount is one source's.
type SourcesAccount struct {
	Name     string     `json:"source" doc:"the file or folder, as given"`
	Format   string     `json:"format" doc:"format of its files"`
	Bytes    *int64     `json:"bytes" doc:"size of its files as stored; null when not known"`
	Recorded int        `json:"recorded_steps" doc:"steps that it recorded, compared or not"`
	Makespan int64      `json:"makespan_ns" doc:"exposed time of the steps compared"`
	Share    []*float64 `json:"shares" doc:"share of each stage, in the order of stages; 0 for a stage that it lacks"`
	Lacks    []string   `json:"lacking_stages" doc:"stages that other sources have and this one does not"`
	Routing  []string   `json:"routing_set" doc:"the stages to look into, by descending share"`
	Held     *Held      `json:"against_first" doc:"how it stands against the first source; null for the first itself"`
}

// Held is how a source stands against the first.
type Held struct {
	Difference  *float64 `json:"share_difference" doc:"the largest difference of a stage's share from the first source's, 0 to 1"`
	Stage       string   `json:"stage" doc:"the stage of that difference"`
	SameRouting bool     `json:"same_routing_set" doc:"the stages to look into are the same as the first source's"`
	SameRoute   bool     `json:"same_order" doc:"they are in the same order too"`
	Longest     int64    `json:"duration_difference_ns" doc:"the largest difference of a stage's time on a rank in a step, of the stages that both have"`
	Size        *float64 `json:"size_ratio" doc:"bytes, divided by those of the first source; null when either is not known"`
}

// SourcesOf returns the document of what several recorders say.
func SourcesOf(c *crosscheck.Comparison, headline string) Sources {
	return Sources{"sfstat.sources/1", headline, c.Agree(), c.Steps, list(c.Ranks), nameOf(c.Match), number(c.Tau), number(c.Tie), list(c.Stages),
		convert(c.Accounts, sourceOf), list(c.Doubts)}
}

func sourceOf(a crosscheck.Account) SourcesAccount {
	out := SourcesAccount{Name: a.Name, Format: a.Format, Bytes: nonNegative(a.Bytes), Recorded: a.Recorded, Makespan: a.Makespan,
		Share: convert(a.Share, number), Lacks: list(a.Lacks), Routing: list(a.Routing)}
	if h := a.Held; h != nil {
		out.Held = &Held{number(h.Difference), h.Stage, h.SameRouting, h.SameRoute, h.Longest, nonZeroNumber(h.Size)}
	}
	return out
}

// SourceRows returns a row for each source and stage.
func SourceRows(c *crosscheck.Comparison) *Rows {
	r := rowsUnder("source format bytes steps ranks makespan_ns stage_index stage share difference routed same_routing_set")
	for _, a := range c.Accounts {
		for i, stage := range c.Stages {
			var same *bool
			if a.Held != nil {
				same = &a.Held.SameRouting
			}
			r.add(a.Name, a.Format, nonNegative(a.Bytes), c.Steps, len(c.Ranks), a.Makespan, i, stage, number(a.Share[i]),
				number(a.Share[i]-c.Accounts[0].Share[i]), slices.Contains(a.Routing, stage), same)
		}
	}
	return r
}
