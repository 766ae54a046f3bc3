package breakdown_test

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/breakdown"
	"github.com/sfstat/sfstat/trace/profile"
)

// A step of 100 ms: 60 ms of compute, 30 ms of communication, of which compute
// covers 10 ms, and 20 ms idle.
func Example() {
	const ms = 1_000_000
	step := profile.DeviceStep{Categories: profile.Categories{
		End: 100 * ms, Last: 100 * ms, Compute: 60 * ms, Communication: 30 * ms, Idle: 20 * ms, ExposedComm: 20 * ms,
	}}
	d := &profile.DeviceTimes{Ranks: []profile.DeviceRank{{Steps: []profile.DeviceStep{step}}}}
	r, err := breakdown.Analyze(d, breakdown.DefaultOptions())
	if err != nil {
		panic(err)
	}
	t := &r.Ranks[0].Times
	fmt.Printf("compute %.0f %%, idle %.0f %%, exposed %.0f %% of communication\n",
		100*t.Share(breakdown.Compute), 100*t.Share(breakdown.Idle), 100*t.ExposedShare())
	// Output: compute 60 %, idle 20 %, exposed 67 % of communication
}
