package comm

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/enum"
)

// Pairing says how a process that logged was found among those that profilers saw.
type Pairing uint8

const (
	Unpaired   Pairing = iota // one side alone
	ByPID                     // host and pid
	ByBus                     // the bus of its GPU, on the host
	ByRankName                // the rank that the process gave itself in NVTX
	ByDevice                  // the CUDA device, on the host
)

var pairingNames = [...]string{"one side alone", "host and pid", "host and PCI bus", "rank named in NVTX", "host and CUDA device"}

func (p Pairing) String() string { return enum.Name(pairingNames[:], p) }

// Names returns the names of all values.
func (Pairing) Names() []string { return pairingNames[:] }

// witness is a process as a log or a profiler saw it.
type witness struct {
	index int
	host  string // as NCCL writes it: cut at the first dot
	*comms.Process
	rank  int   // of one that logged, in its largest communicator
	calls []int // of one that logged
}

func (r *Result) witness(process int) witness {
	p := &r.Recorded.Processes[process]
	host, _, _ := strings.Cut(p.Host, ".")
	return witness{index: process, host: host, Process: p, rank: -1}
}

// pair finds the ranks: processes that logged with those that profilers saw, and what is left of both.
func (r *Result) pair(of *profiledCalls) []Rank {
	p := pairs{r: r, logs: r.loggedProcesses(of)}
	for i := range r.Recorded.Processes {
		if r.profiled[i] {
			p.traces = append(p.traces, r.witness(i))
		}
	}
	p.of, p.how, p.taken = slices.Repeat([]int{comms.None}, len(p.logs)), make([]Pairing, len(p.logs)), make([]bool, len(p.traces))
	p.guessHosts()
	same := func(l, t *witness) bool { return l.host == "" || t.host == "" || l.host == t.host }
	p.pairUnique(ByPID, func(l, t *witness) bool { return l.PID > 0 && l.PID == t.PID && same(l, t) })
	p.pairUnique(ByBus, func(l, t *witness) bool { return l.Bus != 0 && l.Bus == t.Bus && l.host == t.host })
	p.pairUnique(ByRankName, func(l, t *witness) bool { return l.rank >= 0 && l.rank == t.Rank && same(l, t) })
	p.pairUnique(ByDevice, func(l, t *witness) bool { return l.Device >= 0 && l.Device == t.Device && l.host == t.host })
	return p.ranks()
}

// loggedProcesses lists the processes that logged calls or communicators. Lines whose process is not
// known are no process beside others that are.
func (r *Result) loggedProcesses(of *profiledCalls) (list []witness) {
	rank, largest, has := map[int]int{}, map[int]int{}, map[int]bool{}
	for i := range r.Groups {
		g := &r.Groups[i]
		has[g.Process] = true
		if g.Size > largest[g.Process] && g.Rank >= 0 {
			largest[g.Process], rank[g.Process] = g.Size, g.Rank
		}
	}
	named := false
	for i := range r.Recorded.Processes {
		named = named || r.kindOf(i) == comms.SourceNCCLLog && r.Recorded.Processes[i].PID != 0
	}
	for i := range r.Recorded.Processes {
		p := &r.Recorded.Processes[i]
		if r.kindOf(i) != comms.SourceNCCLLog || named && p.PID == 0 || len(of.logged[i]) == 0 && !has[i] {
			continue
		}
		l := r.witness(i)
		l.calls = of.logged[i]
		if n, known := rank[i]; known {
			l.rank = n
		}
		list = append(list, l)
	}
	return list
}

// guessHosts takes the host of an export that does not say it from its file's name, where that
// holds the name of a host of the logs, the longest.
func (p *pairs) guessHosts() {
	for i := range p.traces {
		t := &p.traces[i]
		if t.host != "" {
			continue
		}
		name := path.Base(p.sourceOf(t))
		for _, l := range p.logs {
			if len(l.host) > len(t.host) && strings.Contains(name, l.host) {
				t.host = l.host
			}
		}
	}
}

// sourceOf returns the name of the file that has a process's kernels.
func (p *pairs) sourceOf(t *witness) string { return p.r.Recorded.Sources[t.Source].Name }

// pairs is which process that logged is which of those that profilers saw.
type pairs struct {
	r      *Result
	logs   []witness
	traces []witness
	of     []int // of each of logs
	how    []Pairing
	taken  []bool
}

// pairUnique pairs what fits one only, both ways.
func (p *pairs) pairUnique(how Pairing, fits func(l, t *witness) bool) {
	partner := func(l int) int {
		found := comms.None
		for t := range p.traces {
			if !p.taken[t] && fits(&p.logs[l], &p.traces[t]) {
				if found != comms.None {
					return comms.None
				}
				found = t
			}
		}
		return found
	}
	claims := map[int]int{}
	partners := make([]int, len(p.logs))
	for l := range p.logs {
		if partners[l] = comms.None; p.of[l] == comms.None {
			if partners[l] = partner(l); partners[l] != comms.None {
				claims[partners[l]]++
			}
		}
	}
	for l, t := range partners {
		if t != comms.None && claims[t] == 1 {
			p.of[l], p.how[l], p.taken[t] = t, how, true
		}
	}
}

// ranks makes the ranks, in an order that numbering may keep: by host, device, pid.
func (p *pairs) ranks() (list []Rank) {
	for i := range p.logs {
		l := &p.logs[i]
		k := Rank{Host: l.host, PID: l.PID, Device: l.Device, Log: l.index, Profile: comms.None, Calls: l.calls, Pairing: p.how[i]}
		if t := p.of[i]; t != comms.None {
			k.Profile = p.traces[t].index
			if d := p.traces[t].Device; d >= 0 { // dumps do not say
				k.Device = d
			}
		}
		list = append(list, k)
	}
	for i := range p.traces {
		if t := &p.traces[i]; !p.taken[i] {
			list = append(list, Rank{Host: cmp.Or(t.host, strings.TrimSuffix(path.Base(p.sourceOf(t)), ".sqlite")), PID: t.PID, Device: t.Device,
				Log: comms.None, Profile: t.index})
		}
	}
	slices.SortStableFunc(list, func(x, y Rank) int {
		return cmp.Or(cmp.Compare(x.Host, y.Host), cmp.Compare(x.Device, y.Device), cmp.Compare(x.PID, y.PID))
	})
	for i := range list {
		list[i].Rank = i
	}
	return list
}
