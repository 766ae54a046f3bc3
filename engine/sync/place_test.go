package sync

import "testing"

// TestStepsNumber: the calls of a group are numbered by the steps that a recorder has where a tenth of them at most is in none,
// or in a step that has more of them, or is another call on another rank.
func TestStepsNumber(t *testing.T) {
	for name, c := range map[string]struct {
		calls [2][]int32 // of each of two ranks, the numbers in a step
		want  bool
	}{
		"four a step":         {calls: [2][]int32{repeated(5, 1, 2, 3, 4), repeated(5, 1, 2, 3, 4)}, want: true},
		"two of 20 outside":   {calls: [2][]int32{append(repeated(9, 1, 2), 0, 0), append(repeated(9, 1, 2), 0, 0)}, want: true},
		"three of 21 outside": {calls: [2][]int32{append(repeated(9, 1, 2), 0, 0, 0), append(repeated(9, 1, 2), 0, 0, 0)}, want: false},
		"one of ten has more": {calls: [2][]int32{append(repeated(9, 1, 2), 1, 2, 3), append(repeated(9, 1, 2), 1, 2, 3)}, want: true},
		"a third has more":    {calls: [2][]int32{append(repeated(6, 1, 2), repeated(3, 1, 2, 3)...), append(repeated(6, 1, 2), repeated(3, 1, 2, 3)...)}, want: false},
		"ranks disagree":      {calls: [2][]int32{repeated(5, 1, 2), repeated(5, 2, 1)}, want: false},
		"a step of 65":        {calls: [2][]int32{{65, 65}, {65, 65}}, want: false},
	} {
		m := &Matching{Program: &Program{Ranks: make([]Rank, 2)}}
		var points []int32
		for i := range c.calls[0] {
			for r := range c.calls {
				m.Ranks[r].Calls = append(m.Ranks[r].Calls, Call{Nth: int8(c.calls[r][i])})
			}
			points = append(points, int32(i))
			m.Points = append(m.Points, Point{Entries: []Entry{Nth(0, i), Nth(1, i)}})
		}
		if got := m.isStepwise(points); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// repeated returns so many times the same numbers.
func repeated(times int, numbers ...int32) (out []int32) {
	for range times {
		out = append(out, numbers...)
	}
	return out
}

// TestSharePeriods: a group whose own times show no period has that of most groups with the same kinds of calls and as many of them, if its
// kinds repeat so too.
func TestSharePeriods(t *testing.T) {
	for name, c := range map[string]struct {
		calls   int
		kinds   []int32 // of the group's calls, over and over
		periods []int   // of the others
		want    int
	}{
		"replica":           {60, []int32{0}, []int{5, 5}, 5},
		"most say so":       {60, []int32{0}, []int{3, 5, 5}, 5},
		"a call lacking":    {58, []int32{0}, []int{5, 5}, 5},
		"far fewer calls":   {50, []int32{0}, []int{5, 5}, 0},
		"none has one":      {60, []int32{0}, []int{0, 0}, 0},
		"kinds go by three": {60, []int32{0, 0, 1}, []int{5, 5}, 0},
	} {
		m := &Matching{Program: &Program{Ranks: make([]Rank, 1)}, site: []int32{0, 1}}
		by, periods := make([][]int32, 1+len(c.periods)), append([]int{0}, c.periods...)
		for i := range c.calls {
			m.Ranks[0].Calls = append(m.Ranks[0].Calls, Call{Kind: c.kinds[i%len(c.kinds)]})
			m.Points = append(m.Points, Point{Entries: []Entry{Nth(0, i)}})
			by[0] = append(by[0], int32(i))
		}
		alike := NewSets(len(by))
		for g := range c.periods {
			by[g+1] = make([]int32, 60)
			alike.Join(0, g+1)
		}
		if m.sharePeriods(by, periods, alike); periods[0] != c.want {
			t.Errorf("%s: %d, want %d", name, periods[0], c.want)
		}
	}
}
