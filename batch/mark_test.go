package batch

import "testing"

// Parts of one build are not taken for those of another that divides the same files otherwise.
func TestMarkTellsParts(t *testing.T) {
	marks := map[string]string{}
	for name, chunks := range map[string][]chunk{
		"one":         {{units: make([]unit, 2), bytes: 30}},
		"two":         {{units: make([]unit, 1), bytes: 10}, {units: make([]unit, 1), bytes: 20}},
		"two, others": {{units: make([]unit, 1), bytes: 20}, {units: make([]unit, 1), bytes: 10}},
	} {
		p := &plan{Files: []file{{Path: "a"}, {Path: "b"}}, Options: "the same", chunks: chunks}
		mark := p.mark()
		if marks[mark] != "" {
			t.Errorf("%s and %s have one mark", marks[mark], name)
		}
		if marks[mark] = name; p.mark() != mark {
			t.Errorf("%s has two marks", name)
		}
		if p.Files[0].Size++; p.mark() == mark {
			t.Errorf("%s has the mark of other files", name)
		}
		if p.Files[0].Size, p.Options = 0, "others"; p.mark() == mark {
			t.Errorf("%s has the mark of other options", name)
		}
	}
}
