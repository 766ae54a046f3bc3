package live

import (
	"os"
	"slices"
	"time"

	"github.com/sfstat/sfstat/ingest/auto"
)

// Times are when each run was recorded last: what its windows say, or else its file. Make
// them with Times{}.
type Times map[string]time.Time

// See looks at an item, as Options.See does.
func (t Times) See(item auto.Item) {
	var at time.Time
	if item.Window != nil && len(item.Window.Epochs) > 0 {
		if began := slices.Max(item.Window.Epochs); began > 0 {
			at = time.Unix(0, began)
		}
	}
	if at.IsZero() && item.Path != "" {
		if info, err := os.Stat(item.Path); err == nil {
			at = info.ModTime()
		}
	}
	if run := item.Recordings()[0].RunName(); item.Telemetry == nil && at.After(t[run]) {
		t[run] = at
	}
}
