package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/engine/baseline"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/frontier/gates"
	"github.com/sfstat/sfstat/trace"
)

// Stretch is what is kept of windows that were judged together before those of a
// verdict. It has the resolution of [mostEarlier]: stretches with one answer are one.
type Stretch struct {
	First   int64         `json:"first_step" doc:"first step, as recorded"`
	Last    int64         `json:"last_step" doc:"last step, as recorded"`
	Windows int           `json:"windows" doc:"number of windows"`
	Steps   int           `json:"steps" doc:"number of steps"`
	Status  answer.Status `json:"status" doc:"the answer on these windows"`
	Finding *Finding      `json:"finding" doc:"what the status is about, with its cost over the stretch and no evidence; null: nothing"`
}

const (
	// leastTurn is how many windows a stretch has at least, however many ranks.
	leastTurn = 16
	// mostEarlier is how many stretches are kept of a run; of more, the two neighbours with
	// the fewest steps become one.
	mostEarlier = 64
)

// recent is what a run whose windows are not all kept knows beside them. The windows
// that are kept are of two stretches, the older of which goes as one when the newer is full.
type recent struct {
	older, newer int // windows
	counted      int // of newer, once for each rank
	earlier      []Stretch
	entries      arrivals.Job // of the newer stretch
	sample       baseline.Sample
}

// full takes note of a window that was added, and reports whether a stretch ends with it.
func (r *recent) full(w *trace.Window, most int) bool {
	r.newer++
	r.counted += len(w.Ranks)
	return r.newer >= leastTurn && r.counted >= most
}

// turn ends a stretch. The one before it, if any, is judged for the last time and dropped.
func (r *run) turn(g gates.Gates, minGain float64) {
	n := r.recent.older
	dropped := r.series.Turn()
	if n > 0 {
		old := *r
		old.series = dropped
		old.windows, old.lengths, old.seen = r.windows[:n], r.lengths[:n], r.seen[:n]
		old.times, old.probed = r.times[:n], r.probed[:n]
		v := old.judge(g, minGain, nil)
		r.recent.keep(stretchOf(&v, r.seen[n-1].end-1))
		r.forget(n)
	}
	r.recent.older, r.recent.newer, r.recent.counted = r.recent.newer, 0, 0
	r.entries, r.recent.entries = r.recent.entries, arrivals.Job{}
	if r.sample != nil {
		sample := r.recent.sample
		r.sample, r.recent.sample = &sample, baseline.Sample{}
	}
}

// forget drops the first n windows.
func (r *run) forget(n int) {
	gone := make(map[int64]bool, n)
	for i := range r.windows[:n] {
		gone[r.windows[i].Main.Window] = true
	}
	r.lost = slices.DeleteFunc(r.lost, func(p answer.Problem) bool { return p.Window != nil && gone[*p.Window] })
	r.windows, r.lengths, r.seen = rest(r.windows, n), rest(r.lengths, n), rest(r.seen, n)
	r.times, r.probed = rest(r.times, n), rest(r.probed, n)
}

// rest is all but the first n values, in memory of its own.
func rest[T any](list []T, n int) []T { return slices.Clone(list[n:]) }

func stretchOf(v *RunVerdict, last int64) Stretch {
	s := Stretch{First: v.Windows[0].Main.FirstStep, Last: last, Windows: len(v.Windows), Status: v.Status}
	for _, w := range v.Windows {
		s.Steps += w.Main.Steps
	}
	if len(v.Findings) > 0 && v.Status > answer.NoStraggler {
		first := v.Findings[0]
		first.Evidence, first.Windows, first.Detail = nil, nil, -1
		s.Finding = &first
	}
	return s
}

// keep adds a stretch that follows the others.
func (r *recent) keep(s Stretch) {
	list := append(slices.Clone(r.earlier), s) // verdicts have the list as it was
	at := len(list) - 2
	switch {
	case at >= 0 && list[at].like(s):
	case len(list) > mostEarlier:
		at = 0
		for i := range list[:len(list)-1] {
			if list[i].Steps+list[i+1].Steps < list[at].Steps+list[at+1].Steps {
				at = i
			}
		}
	default:
		r.earlier = list
		return
	}
	list[at] = list[at].with(list[at+1])
	r.earlier = slices.Delete(list, at+1, at+2)
}

// like reports whether two stretches have one answer.
func (s Stretch) like(o Stretch) bool {
	if s.Status != o.Status || (s.Finding == nil) != (o.Finding == nil) {
		return false
	}
	return s.Finding == nil || s.Finding.key() == o.Finding.key()
}

// with is a stretch and the one after it. The answer is that of the worse, whose cost is
// spread over both.
func (s Stretch) with(o Stretch) Stretch {
	out := Stretch{First: min(s.First, o.First), Last: max(s.Last, o.Last), Windows: s.Windows + o.Windows, Steps: s.Steps + o.Steps}
	worse, other := s, o
	if o.Status > s.Status || o.Status == s.Status && o.explained() > s.explained() {
		worse, other = o, s
	}
	out.Status = worse.Status
	if worse.Finding == nil {
		return out
	}
	f := *worse.Finding
	part := float64(worse.Steps) / float64(max(1, out.Steps))
	f.RunGain *= part
	f.Struck.Of = out.Steps
	if other.like(worse) {
		of := other.Finding
		count := f.Struck.Count + of.Struck.Count
		f.Excess = int64((float64(f.Excess)*float64(f.Struck.Count) + float64(of.Excess)*float64(of.Struck.Count)) / float64(max(1, count)))
		f.RunGain += (1 - part) * of.RunGain
		f.Explained += of.Explained
		f.Confidence = max(f.Confidence, of.Confidence)
		f.Struck.Count, f.Struck.First, f.Struck.Last = count, min(f.Struck.First, of.Struck.First), max(f.Struck.Last, of.Struck.Last)
	}
	out.Finding = &f
	return out
}

func (s Stretch) explained() int64 {
	if s.Finding == nil {
		return 0
	}
	return s.Finding.Explained
}
