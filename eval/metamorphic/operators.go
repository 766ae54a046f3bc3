package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// operatorTrace is a table of operators, with its meta file beside it.
var operatorTrace = &form{
	name: "operators",
	ranks: func(f *file) (out []int) {
		t, err := optrace.Open(f.path, ingest.Limits{})
		if err != nil {
			return nil
		}
		for _, r := range t.Ranks {
			out = append(out, r.ID)
		}
		return out
	},
	can: map[edit]func(*file, *editing) ([]*file, error){
		rewrite:     editTraces(func(*operator.Trace, *editing) error { return nil }),
		renameRanks: editTraces(renameReplicas),
		reorder:     reorderOperators,
		shift: editTraces(func(t *operator.Trace, e *editing) error {
			if t.StepClock {
				return notApplicable("times count from the start of the step")
			}
			for i, r := range t.Rank {
				if t.Ranks[r].ID == e.rank {
					t.Start[i] += e.ns
				}
			}
			return nil
		}),
		round: editTraces(func(t *operator.Trace, e *editing) error {
			for i := range t.Start {
				end := roundTo(t.Start[i]+t.Dur[i], e.ns)
				t.Start[i] = roundTo(t.Start[i], e.ns)
				t.Dur[i] = end - t.Start[i]
			}
			t.Resolution = max(t.Resolution, e.ns)
			return nil
		}),
		remove: editTraces(removeOperators),
	},
	not: map[edit]string{
		renameHosts: "operators do not say where they ran",
		split:       "a trace is one table",
		merge:       "a trace is one table",
		addStage:    "operators are of no stage",
	},
}

func editTraces(change func(*operator.Trace, *editing) error) func(*file, *editing) ([]*file, error) {
	return func(f *file, e *editing) ([]*file, error) {
		t, err := optrace.Open(f.path, ingest.Limits{})
		if err != nil {
			return nil, notApplicable("%v", err)
		}
		if err := change(t, e); err != nil {
			return nil, err
		}
		var text bytes.Buffer
		if isParquet(f) {
			err = optrace.WriteParquet(&text, t)
		} else {
			err = optrace.WriteCSV(&text, t)
		}
		if err != nil {
			return nil, err
		}
		return addMeta(f.withContent(text.Bytes()), t)
	}
}

func isParquet(f *file) bool { return bytes.HasPrefix(f.stored, []byte("PAR1")) }

// addMeta returns a trace with the meta file that belongs to it.
func addMeta(f *file, t *operator.Trace) ([]*file, error) {
	var meta bytes.Buffer
	if err := optrace.WriteMeta(&meta, t); err != nil {
		return nil, err
	}
	name := filepath.ToSlash(optrace.MetaFor(f.name))
	return []*file{f, {name: name, stored: meta.Bytes(), form: partner}}, nil
}

// renameReplicas lists replicas in another order. The names of ranks follow from their places in the
// layout, so that only replicas can be renamed; names says so.
func renameReplicas(t *operator.Trace, e *editing) error {
	to, err := reversedReplica(t)
	if err != nil {
		return err
	}
	dp, pp := t.Coordinates()
	for i := range t.Ranks {
		if t.Ranks[i].ID, err = to(dp[i], pp[i]); err != nil {
			return err
		}
		coords := slices.Clone(t.Ranks[i].Role)
		for k := range coords {
			if coords[k].Axis == trace.DataParallel {
				coords[k].Index = t.Layout.DP - 1 - dp[i]
			}
		}
		if t.Ranks[i].Role, err = trace.NewRole(coords...); err != nil {
			return err
		}
	}
	return nil
}

// reversedReplica returns the rank that stands where the replica is counted from the end.
func reversedReplica(t *operator.Trace) (func(dp, pp int) (int, error), error) {
	dp, pp := t.Coordinates()
	at := map[[2]int]int{}
	for i, r := range t.Ranks {
		at[[2]int{dp[i], pp[i]}] = r.ID
	}
	if len(t.Declared) > 0 || len(at) != len(t.Ranks) {
		return nil, notApplicable("ranks have more places than replicas and stages")
	}
	return func(dp, pp int) (int, error) {
		id, ok := at[[2]int{t.Layout.DP - 1 - dp, pp}]
		if !ok {
			return 0, notApplicable("a replica has not all stages")
		}
		return id, nil
	}, nil
}

// reorderOperators shuffles the rows, as CSV.
func reorderOperators(f *file, e *editing) ([]*file, error) {
	t, err := optrace.Open(f.path, ingest.Limits{})
	if err != nil {
		return nil, notApplicable("%v", err)
	}
	var text bytes.Buffer
	if err := optrace.WriteCSV(&text, t); err != nil {
		return nil, err
	}
	lines := linesOf(text.Bytes())
	e.rng.Shuffle(len(lines)-1, func(i, k int) { lines[1+i], lines[1+k] = lines[1+k], lines[1+i] })
	out := f.withContent(bytes.Join(lines, nil))
	out = out.withName(strings.TrimSuffix(out.name, filepath.Ext(out.name)) + ".csv")
	return addMeta(out, t)
}

func removeOperators(t *operator.Trace, e *editing) error {
	var keep []int
	for i, r := range t.Rank {
		if t.Ranks[r].ID != e.rank {
			keep = append(keep, i)
		}
	}
	pick := func(list *[]int32) {
		if *list == nil {
			return
		}
		out := make([]int32, len(keep))
		for k, i := range keep {
			out[k] = (*list)[i]
		}
		*list = out
	}
	for _, list := range []*[]int32{&t.Rank, &t.Step, &t.Name, &t.Lane, &t.Seq, &t.Chunk, &t.GlobalChunk, &t.Microbatch, &t.Group, &t.Launch} {
		pick(list)
	}
	start, dur := make([]int64, len(keep)), make([]int64, len(keep))
	for k, i := range keep {
		start[k], dur[k] = t.Start[i], t.Dur[i]
	}
	t.Start, t.Dur = start, dur
	return nil
}

// replicasRenamed returns what the ranks of a trace are called when its replicas are counted from the end.
func replicasRenamed(f *file) (map[int]int, error) {
	t, err := optrace.Open(f.path, ingest.Limits{})
	if err != nil {
		return nil, notApplicable("%v", err)
	}
	to, err := reversedReplica(t)
	if err != nil {
		return nil, err
	}
	dp, pp := t.Coordinates()
	out := map[int]int{}
	for i, r := range t.Ranks {
		if out[r.ID], err = to(dp[i], pp[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
