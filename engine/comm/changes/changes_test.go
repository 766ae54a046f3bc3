package changes

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

func job(t *testing.T, edit func(*comms.Record)) *comm.Result {
	t.Helper()
	found, _, err := auto.ReadComm([]string{"../../../fixtures/comm/run"}, auto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(found)
	}
	r, err := comm.Analyze(found, comm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A recording differs from itself in nothing.
func TestSame(t *testing.T) {
	r := Compare(job(t, nil), job(t, nil))
	if r.CountDiffering() != 0 || len(r.Gone)+len(r.New) != 0 || !r.PerStep || len(r.Changes) == 0 {
		t.Errorf("against itself: %+v", r)
	}
	for _, c := range r.Changes {
		if d := cmp.Diff(c.Base, c.New); d != "" {
			t.Errorf("%+v differs from itself: %s", c.Use, d)
		}
	}
}

// Larger calls are larger by as much, another protocol is named, and swapping the sides swaps the answer.
func TestChanged(t *testing.T) {
	base := job(t, nil)
	now := job(t, func(c *comms.Record) {
		for i := range c.Calls {
			c.Calls[i].Bytes *= 3
			if u := c.Calls[i].Tuning; u != nil {
				other := *u
				other.Protocol = nccl.LL128
				c.Calls[i].Tuning = &other
			}
		}
	})
	r := Compare(base, now)
	if r.CountDiffering() != len(r.Changes) {
		t.Errorf("%d of %d uses differ, want all", r.CountDiffering(), len(r.Changes))
	}
	for _, c := range r.Changes {
		if c.New.Bytes != 3*c.Base.Bytes || c.New.Size != 3*c.Base.Size || c.New.Calls != c.Base.Calls {
			t.Errorf("%+v: %+v, then %+v", c.Use, c.Base, c.New)
		}
		if len(c.New.Choices) > 0 && c.New.Choices[0].Protocol != "LL128" {
			t.Errorf("%+v is run by %+v", c.Use, c.New.Choices)
		}
	}
	back := Compare(now, base)
	for i := range back.Changes {
		back.Changes[i].Base, back.Changes[i].New = back.Changes[i].New, back.Changes[i].Base
	}
	if d := cmp.Diff(r.Changes, back.Changes); d != "" {
		t.Errorf("with the sides swapped: %s", d)
	}
}

// A communicator is known by its ranks, as often as there is one of them, whatever its identifier.
func TestCommunicators(t *testing.T) {
	of := func(ranks ...[]int) *comm.Result {
		r := &comm.Result{}
		for i, list := range ranks {
			r.Communicators = append(r.Communicators, parallel.Communicator{ID: fmt.Sprint(len(ranks), i), Ranks: list, NRanks: len(list)})
		}
		return r
	}
	pair, four := []int{0, 1}, []int{0, 1, 2, 3}
	for _, tt := range []struct {
		one, other *comm.Result
		want       []Group
	}{
		{of(pair, four), of(four, pair), []Group{}},
		{of(pair, pair, four), of(four, pair), []Group{{Ranks: pair, Size: 2}}},
		{of(four), of(pair), []Group{{Ranks: four, Size: 4}}},
		{of(), of(pair), []Group{}},
	} {
		if d := cmp.Diff(tt.want, missingGroups(tt.one, tt.other)); d != "" {
			t.Error(d)
		}
	}
}
