package arrivals

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
)

// Job is what all processes of a job recorded. The zero Job is empty.
type Job struct {
	sync.Program
	timelines timelines
	part      *Part // of the last window; nil: none
	parts     int   // how many there were
	// profiled are entries as profilers saw them on the hosts: of a few steps, and of
	// use where nobody else recorded any.
	profiled  []*comms.Record
	stood     []stood
	notes     []string        // on the stacks, and on messages of time-outs
	ended     map[int]string  // how ranks ended
	recovered []string        // time-outs behind which the job went on
	asked     []*comms.Record // reports of NCCL's RAS
}

// Add takes the calls of processes whose rank is known. A second record of one
// rank is merged with the first: of calls in both one stays, and of a process
// that was started again the later.
func (j *Job) Add(c *comms.Record) error {
	for p := range c.Processes {
		if c.Processes[p].Rank < 0 {
			return fmt.Errorf("no rank is known of %s (%w)", c.Sources[c.Processes[p].Source].Name, input.ErrMissing)
		}
	}
	switch {
	case slices.ContainsFunc(c.Sources, func(s comms.Source) bool { return s.Kind == comms.SourceRAS }):
		j.asked = append(j.asked, c)
		return nil
	case j.stands(c):
		return nil
	}
	j.Prepare()
	if slices.ContainsFunc(c.Sources, func(s comms.Source) bool { return s.Kind == comms.SourceKineto }) {
		j.profiled = append(j.profiled, c)
		return nil
	}
	j.Program.Add(c)
	return nil
}

// Empty reports whether no entries were added.
func (j *Job) Empty() bool { return len(j.Ranks)+len(j.profiled) == 0 }
