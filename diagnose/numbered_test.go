package diagnose

import "testing"

// numberedAs returns steps of those numbers in windows, each by itself where it does not follow the one before.
func numberedAs(numbers []int64, windows []int) (s stepNumbers) {
	for i := 0; i < len(numbers); {
		n := 1
		for i+n < len(numbers) && numbers[i+n] == numbers[i]+int64(n) && windows[i+n] == windows[i] {
			n++
		}
		s.add(n, numberedRun{window: windows[i], first: numbers[i], every: 1})
		i += n
	}
	return s
}

// alikeSteps reports whether steps have those numbers and windows.
func alikeSteps(s *stepNumbers, numbers []int64, windows []int) bool {
	if s.n != len(numbers) {
		return false
	}
	for i := range numbers {
		if s.number(i) != numbers[i] || s.window(i) != windows[i] {
			return false
		}
	}
	return true
}

// TestNumbered finds the number and the window of each step where windows leave steps out, log some only, and are joined.
func TestNumbered(t *testing.T) {
	var s, next stepNumbers
	s.add(3, numberedRun{window: 4, first: 100, every: 10})
	s.add(0, numberedRun{window: 5, first: 7, every: 1})
	s.add(2, numberedRun{window: 6, first: 200, every: 1})
	next.add(2, numberedRun{window: 7, first: 500, every: 5})
	next.add(1, numberedRun{window: 8, first: 600, every: 1})
	s.join(&next)
	if !alikeSteps(&s, []int64{100, 110, 120, 200, 201, 500, 505, 600}, []int{4, 4, 4, 6, 6, 7, 7, 8}) || s.last() != 600 || len(s.runs) != 4 {
		t.Errorf("%+v", s)
	}
	if next.number(0) != 500 || next.runs[0].at != 0 {
		t.Errorf("joining changed what was joined: %+v", next)
	}
	for _, outside := range []int{-1, 8} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("step %d of 8 has a number", outside)
				}
			}()
			s.number(outside)
		}()
	}
}
