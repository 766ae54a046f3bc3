package megatron

import "slices"

// Stage is pipeline stages whose ranks make the same calls.
type Stage struct {
	First, Last int64 // ranks of the job
	Calls       []Call
}

// Stages returns what ranks call, in the order of ranks; stages that call the same stand together. Lines are left at what all ranks
// but the first of each group have. The job is complete.
func (j *Job) Stages() (out []Stage) {
	each := j.TP * j.DP
	for pp := range j.PP {
		s := Stage{pp * each, (pp+1)*each - 1, j.Calls(pp * each)}
		for i := range s.Calls {
			s.Calls[i].Lines = s.Calls[i].Times
		}
		if n := len(out); n > 0 && slices.Equal(out[n-1].Calls, s.Calls) {
			out[n-1].Last = s.Last
			continue
		}
		out = append(out, s)
	}
	return out
}
