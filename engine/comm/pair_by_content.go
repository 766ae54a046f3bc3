package comm

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/align"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/comms"
)

// maxTrials bounds the alignments that pairing by content costs.
const maxTrials = 1024

// trial is how well two processes fit.
type trial struct {
	log, trace int
	share      float64 // of kernels that have a call
	otherGPU   int     // 1 where neither bus nor device is the same, on whatever host: decides where nothing else does
	spread     float64 // nanoseconds from the usual distance of stamp and launch; infinite where there are no times
}

// byContent pairs what is left by what was done: the share of kernels that find a call, and, where
// both sides have times, how steadily a launch follows its call. Calls of one process are launched
// within microseconds; those of another, within its jitter.
func (p *pairs) byContent() {
	var logs, traces []int
	for l := range p.logs {
		if p.of[l] == comms.None && len(p.logs[l].calls) > 0 {
			logs = append(logs, l)
		}
	}
	for t := range p.traces {
		if !p.taken[t] {
			traces = append(traces, t)
		}
	}
	if len(logs)*len(traces) > maxTrials {
		p.r.note(Note{Kind: NoteUntried, N: int64(len(logs)), Of: int64(len(traces))})
		return
	}
	var trials []trial
	known := p.known()
	for _, l := range logs {
		for _, t := range traces {
			if p.contradict(l, t, known) {
				continue
			}
			if tr := p.try(l, t); tr.share >= 0.5 {
				trials = append(trials, tr)
			}
		}
	}
	p.best(trials)
}

// names are the hosts that a log and an export call alike, and of these the ones
// whose processes have the same numbers in both. What is done inside a
// container may have other names and numbers than outside.
type names struct{ hosts, numbers map[string]bool }

func (p *pairs) known() names {
	k := names{map[string]bool{}, map[string]bool{}}
	traced := map[string]bool{}
	for t := range p.traces {
		traced[p.traces[t].host] = true
	}
	for l := range p.logs {
		host := p.logs[l].host
		if host != "" && traced[host] {
			k.hosts[host] = true
			k.numbers[host] = k.numbers[host] || p.of[l] != comms.None && p.how[l] == ByPID
		}
	}
	return k
}

// contradict reports whether two processes cannot be one: they are of different hosts that
// names tell apart, or of one and have different GPUs, or different numbers that
// would be the same.
func (p *pairs) contradict(l, t int, known names) bool {
	x, y := &p.logs[l], &p.traces[t]
	if x.host != y.host {
		return x.host != "" && y.host != "" && (known.hosts[x.host] || known.hosts[y.host])
	}
	return x.Bus != 0 && y.Bus != 0 && x.Bus != y.Bus || known.numbers[x.host] && x.PID > 0 && y.PID > 0 && x.PID != y.PID
}

// try aligns two processes.
func (p *pairs) try(l, t int) trial {
	x, y := &p.logs[l], &p.traces[t]
	process := align.Process{Calls: p.r.callsOf(x.calls), Kernels: y.kernels, Clock: y.Clock}
	tr := trial{log: l, trace: t, spread: math.Inf(1), otherGPU: 1}
	if x.Bus != 0 && x.Bus == y.Bus || x.Bus == 0 && x.Device == y.Device {
		tr.otherGPU = 0
	}
	m, err := align.Calls(process, align.Options{})
	if err != nil || len(process.Kernels) == 0 {
		return tr
	}
	tr.share = float64(len(m.Matches)) / float64(max(len(process.Kernels), 1))
	if m.Timed {
		tr.spread = spread(&process, m)
	}
	return tr
}

// spread is the median distance of launches from where they usually are after their calls.
func spread(p *align.Process, m *align.Matching) float64 {
	var off []int64
	for _, x := range m.Matches {
		if l := &m.Launches[x.Launch]; len(l.Calls) > 0 {
			d := p.Kernels[x.Kernel].Launch - p.Calls[l.Calls[len(l.Calls)-1]].Time - m.Offset
			off = append(off, max(d, -d))
		}
	}
	if len(off) == 0 {
		return math.Inf(1)
	}
	return float64(robust.Upper(off))
}

// best takes the pairs that fit best, and doubts those that another fits nearly as well.
func (p *pairs) best(trials []trial) {
	better := func(x, y trial) int {
		return cmp.Or(cmp.Compare(x.spread, y.spread), cmp.Compare(y.share, x.share), cmp.Compare(x.otherGPU, y.otherGPU), cmp.Compare(x.log, y.log), cmp.Compare(x.trace, y.trace))
	}
	slices.SortFunc(trials, better)
	for i, x := range trials {
		if p.of[x.log] != comms.None || p.taken[x.trace] {
			continue
		}
		how := ByContent
		if !x.fits(p.hasRival(trials, i)) {
			how = Doubtful
		}
		for j, y := range trials {
			if j != i && p.rivals(x, y) {
				how = Doubtful
			}
		}
		p.set(x.log, x.trace, how)
	}
}

// hasRival reports whether another trial is of one of the two processes.
func (p *pairs) hasRival(trials []trial, i int) bool {
	return slices.ContainsFunc(trials, func(y trial) bool {
		return y != trials[i] && (y.log == trials[i].log || y.trace == trials[i].trace)
	})
}

// What is one process launches its kernels steadily after its calls, within microseconds; what is not has
// the jitter between two ranks, or leaves kernels without call. Without a rival to beat all must fit.
const (
	steady   = 15_000 // nanoseconds
	wellFit  = 0.95
	clearFit = 0.05
)

// fits reports whether the two can be called one.
func (x trial) fits(rival bool) bool { return x.spread <= steady && (rival || x.share >= wellFit) }

// rivals reports whether y, which is of one of the two processes of x, fits nearly as well or better, and its other
// process is not surely another's.
func (p *pairs) rivals(x, y trial) bool {
	switch {
	case y.log == x.log && p.taken[y.trace]:
		l := slices.Index(p.of, y.trace)
		return !p.how[l].sure() && !x.beats(y)
	case y.trace == x.trace && p.of[y.log] != comms.None:
		return !p.how[y.log].sure() && !x.beats(y)
	}
	return (y.log == x.log || y.trace == x.trace) && !x.beats(y)
}

// beats reports whether x fits clearly better: half the spread, or less and more of the kernels.
func (x trial) beats(y trial) bool {
	return 2*x.spread < y.spread || x.spread < y.spread && x.share > y.share+clearFit || x.share > y.share+2*clearFit
}
