package ingest

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestRowArrays: an array of rows is read as a line for each, however it is laid out and cut into reads; what is no
// array of rows is left as it is.
func TestRowArrays(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"one line":         {`[{"step": 0, "rank": 1},{"step":1,"rank":1}]`, `{"step": 0, "rank": 1}` + "\n" + `{"step":1,"rank":1}` + "\n"},
		"indented":         {"[\n  {\n    \"step\": 0\n  },\n  {\n    \"step\": 1\n  }\n]\n", "\n{     \"step\": 0   }\n\n\n{     \"step\": 1   }\n\n\n\n"},
		"brackets in text": {`[{"step":0,"note":"]},{\"["}]`, `[{"step":0,"note":"]},{\"["}]`},
		"later brackets":   {`[{"step":0,"note":"a"},{"step":1,"note":"]},{\"[","list":[1,2]}]`, `{"step":0,"note":"a"}` + "\n" + `{"step":1,"note":"]},{\"[","list":[1,2]}` + "\n"},
		"cut":              {`[{"step":0,"rank":1},{"step":1,"ra`, `{"step":0,"rank":1}` + "\n" + `{"step":1,"ra `},
		"cut between":      {`[{"trainer/global_step":0},`, `{"trainer/global_step":0}` + "\n "},
		"another array":    {`[{"ph":"X","ts":1}]`, `[{"ph":"X","ts":1}]`},
		"a log":            {"[rank3]: step 4", "[rank3]: step 4"},
	} {
		for _, one := range []bool{false, true} {
			from := io.Reader(strings.NewReader(c.in))
			if one {
				from = iotest.OneByteReader(from)
			}
			s, err := NewSource(from, "x", Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(s); err != nil || string(got) != c.want {
				t.Errorf("%s: %q, %v, expected %q", name, got, err, c.want)
			}
			s.Close()
		}
	}
}
