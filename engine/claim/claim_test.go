package claim

import (
	"slices"
	"strings"
	"testing"
)

// TestNames: closed sets name their values, and others by their number.
func TestNames(t *testing.T) {
	got := []string{PeerSet.String(), Heavy.String(), Periodic.String(), Strong.String(), Operators.String(), Certainty(9).String()}
	if want := []string{"peer_set", "heavy", "periodic", "strong", "operators", "invalid(9)"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestSteps: struck steps are those of the list, else those at the period, else all from the first to the last; Has says the same.
func TestSteps(t *testing.T) {
	for _, c := range []struct {
		s    Struck
		want []int
	}{
		{Struck{First: 2, Last: 8, Period: 3, Pattern: Periodic}, []int{2, 5, 8}},
		{Struck{First: 2, Last: 4, Pattern: Span}, []int{2, 3, 4}},
		{Struck{First: 1, Last: 9, Pattern: Irregular, List: []int{1, 4, 9}}, []int{1, 4, 9}},
	} {
		var has []int
		for step := range 12 {
			if c.s.Has(step) {
				has = append(has, step)
			}
		}
		if got := c.s.Steps(); !slices.Equal(got, c.want) || !slices.Equal(has, c.want) {
			t.Errorf("%+v: steps %v, has %v, want %v", c.s, got, has, c.want)
		}
	}
}

// TestValidate: claims that no judge may return are refused with what is wrong.
func TestValidate(t *testing.T) {
	sound := Claim{Kind: Rank, Ranks: []int{3}, Host: -1, P: 0.01, Size: 5, Length: 50, Steps: Struck{Count: 4, Of: 9, First: 1, Last: 7}, Saves: Exact(0.1)}
	if err := sound.Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Claim){
		"has ranks [1 2], expected exactly one": func(c *Claim) { c.Ranks = []int{1, 2} },
		"about peer_set has no ranks":           func(c *Claim) { c.Kind, c.Ranks = PeerSet, nil },
		"about a host has host -1":              func(c *Claim) { c.Kind = Host },
		"p 1.5":                                 func(c *Claim) { c.P = 1.5 },
		"size -1 ns":                            func(c *Claim) { c.Size = -1 },
		"struck 10 of 9 steps":                  func(c *Claim) { c.Steps.Count = 10 },
		"claim saves":                           func(c *Claim) { c.Saves.High = 1.2 },
	} {
		c := sound
		if change(&c); c.Validate() == nil || !strings.Contains(c.Validate().Error(), want) {
			t.Errorf("%v, want %q", c.Validate(), want)
		}
	}
}
