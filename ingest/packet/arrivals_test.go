package packet

import (
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace/stagename"
)

// An entry of a step that lies in none of its stages is in the time that no
// stage covers; one of no step is nowhere.
func TestArrivalsOutsideStages(t *testing.T) {
	for _, c := range []struct{ step, stage string }{{`[20,21]`, stagename.Residual}, {`[20,-1]`, ""}} {
		p, err := decodeOne(strings.Replace(full, `"step":[20,-1]`, `"step":`+c.step, 1))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Arrivals.Calls[1].Stage; got != c.stage {
			t.Errorf("steps %s: the second entry is in %q, want %q", c.step, got, c.stage)
		}
		if line := string(appendPacket(nil, p)); !strings.Contains(line, `"step":`+c.step+`,"stage":[1,-1]`) {
			t.Errorf("steps %s are written as %s", c.step, line)
		}
	}
}
