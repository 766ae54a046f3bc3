package tables

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/engine/overhead"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/trace/input"
)

// what names what a run records.
func what(t *campaign.Task) string {
	if t.Spec.Side.Every > 0 {
		return "events"
	}
	return "cpu"
}

// pairedArms are what recording costs by the paired runs of a campaign. A run is a
// block.
func (f *folder) pairedArms() (arms []arm, inputs []campaign.Provenance, err error) {
	var measured [][]overhead.Measurement
	for i := range f.Tasks {
		t := &f.Tasks[i]
		if !t.Paired {
			continue
		}
		path := t.Pairs(f.Path)
		pairs, err := readPairs(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, input.At(input.Pos{File: path}, input.Bad(input.ErrMissing, "the times of a paired run that was done are gone: remove %s, and sfstat campaign run makes it anew", f.Row(t)))
		}
		if err != nil {
			return nil, nil, err
		}
		for k := range pairs {
			pairs[k].Pair = t.ID
		}
		at := slices.IndexFunc(arms, func(a arm) bool { return a.Ranks == t.Spec.Ranks && a.What == what(t) })
		if at < 0 {
			at = len(arms)
			arms, measured = append(arms, arm{Ranks: t.Spec.Ranks, Gather: "gloo", What: what(t)}), append(measured, nil)
		}
		measured[at] = append(measured[at], pairs...)
		from, err := f.From(path)
		if err != nil {
			return nil, nil, err
		}
		from.Run, from.Group, from.SpecHash = t.ID, t.Group, t.Hash
		inputs = append(inputs, from)
	}
	for i := range arms {
		if arms[i].Account, err = examine(measured[i]); err != nil {
			return nil, nil, input.At(input.Pos{File: filepath.Join(f.Path, campaign.OverheadName, campaign.PairedName)}, err)
		}
	}
	return arms, inputs, nil
}
