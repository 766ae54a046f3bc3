package traffic

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/ingest/nsight"
)

// Pairing says how a process that logged was found among those that the profiler saw.
type Pairing uint8

const (
	Unpaired   Pairing = iota // one side alone
	ByPID                     // host and pid
	ByBus                     // the bus of its GPU, on the host
	ByRankName                // the rank that the process gave itself in NVTX
	ByDevice                  // the CUDA device, on the host
	ByContent                 // what it did and when
	Doubtful                  // by content, and another one fits nearly as well, or it does not fit well
)

var pairingNames = [...]string{"one side alone", "host and pid", "host and PCI bus", "rank named in NVTX", "host and CUDA device", "what was done and when",
	"what was done, not clearly"}

func (p Pairing) String() string { return pairingNames[min(p, Doubtful)] }

// Sure says whether matches of the pair may be certain.
func (p Pairing) Sure() bool { return p >= ByPID && p < Doubtful }

// logged is a process of the log.
type logged struct {
	index  int
	host   string
	pid    int64
	device int64
	bus    uint64
	rank   int // in the largest communicator
	calls  []int
}

// recorded is a process of an export.
type recorded struct {
	export, index int
	host          string
	*nsight.CommProcess
}

// pair finds the ranks: processes of the log with those of exports, and what is left of both.
func (a *assembly) pair() {
	logs, traces := a.logged(), a.recorded()
	a.guessHosts(logs, traces)
	p := pairs{logs: logs, traces: traces, of: slices.Repeat([]int{None}, len(logs)), how: make([]Pairing, len(logs)), taken: make([]bool, len(traces))}
	same := func(l *logged, t *recorded) bool { return l.host == "" || t.host == "" || l.host == t.host }
	p.where(ByPID, func(l *logged, t *recorded) bool { return l.pid > 0 && l.pid == t.PID && same(l, t) })
	p.where(ByBus, func(l *logged, t *recorded) bool {
		return l.bus != 0 && t.HasBus && l.bus == t.Bus && l.host == t.host
	})
	p.where(ByRankName, func(l *logged, t *recorded) bool { return l.rank >= 0 && l.rank == t.Rank && same(l, t) })
	p.where(ByDevice, func(l *logged, t *recorded) bool { return l.device >= 0 && l.device == t.Device && l.host == t.host })
	p.byContent(a)
	a.ranks(&p)
}

// logged lists the processes of the log that have calls or communicators. Lines whose process is not
// known are no process beside others that are.
func (a *assembly) logged() (list []logged) {
	log := a.in.Log
	calls := make([][]int, len(log.Processes))
	for i := range log.Calls {
		calls[log.Calls[i].Process] = append(calls[log.Calls[i].Process], i)
	}
	named := slices.ContainsFunc(log.Processes, func(p nccllog.Process) bool { return p.PID != 0 })
	at := make([]int, len(log.Processes))
	for i, p := range log.Processes {
		at[i] = None
		if named && p.PID == 0 {
			continue
		}
		at[i] = len(list)
		list = append(list, logged{index: i, host: hostName(p.Host), pid: p.PID, device: -1, rank: -1, calls: calls[i]})
	}
	largest := make([]int32, len(list))
	has := make([]bool, len(list))
	for i := range log.Communicators {
		c := &log.Communicators[i]
		k := at[c.Process]
		if k == None {
			continue
		}
		has[k] = true
		if c.HasBus {
			list[k].bus = c.Bus
		}
		if !c.Inferred {
			list[k].device = int64(c.CudaDev)
		}
		if c.Ranks > largest[k] && c.Rank >= 0 {
			largest[k], list[k].rank = c.Ranks, int(c.Rank)
		}
	}
	return slices.DeleteFunc(list, func(l logged) bool {
		k := at[l.index]
		return len(l.calls) == 0 && !has[k]
	})
}

func (a *assembly) recorded() (list []recorded) {
	for e, x := range a.in.Exports {
		for i := range x.Processes {
			list = append(list, recorded{e, i, hostName(x.Host), &x.Processes[i]})
		}
	}
	return list
}

// hostName is a host as NCCL writes it: cut at the first dot.
func hostName(s string) string {
	s, _, _ = strings.Cut(s, ".")
	return s
}

// guessHosts takes the host of an export that does not say it from its file's name, where that
// holds the name of a host of the log, the longest.
func (a *assembly) guessHosts(logs []logged, traces []recorded) {
	for i := range traces {
		t := &traces[i]
		if t.host != "" {
			continue
		}
		name := filepath.Base(a.in.Names[t.export])
		for _, l := range logs {
			if len(l.host) > len(t.host) && strings.Contains(name, l.host) {
				t.host = l.host
			}
		}
	}
}

// pairs is which process of the log is which of the exports.
type pairs struct {
	logs   []logged
	traces []recorded
	of     []int // of each of logs
	how    []Pairing
	taken  []bool
}

func (p *pairs) set(l, t int, how Pairing) { p.of[l], p.how[l], p.taken[t] = t, how, true }

// where pairs what fits one only, both ways.
func (p *pairs) where(how Pairing, fits func(*logged, *recorded) bool) {
	partner := func(l int) int {
		found := None
		for t := range p.traces {
			if !p.taken[t] && fits(&p.logs[l], &p.traces[t]) {
				if found != None {
					return None
				}
				found = t
			}
		}
		return found
	}
	claims := map[int]int{}
	partners := make([]int, len(p.logs))
	for l := range p.logs {
		if partners[l] = None; p.of[l] == None {
			if partners[l] = partner(l); partners[l] != None {
				claims[partners[l]]++
			}
		}
	}
	for l, t := range partners {
		if t != None && claims[t] == 1 {
			p.set(l, t, how)
		}
	}
}

// ranks makes the ranks, in an order that numbering may keep: by host, device, pid.
func (a *assembly) ranks(p *pairs) {
	add := func(k Rank) { a.r.Ranks = append(a.r.Ranks, k) }
	for l := range p.logs {
		x := &p.logs[l]
		k := Rank{Host: x.host, PID: x.pid, Device: x.device, Process: x.index, Export: None, Recorded: None, Calls: x.calls, Pairing: p.how[l]}
		if t := p.of[l]; t != None {
			k.Export, k.Recorded = p.traces[t].export, p.traces[t].index
			if d := p.traces[t].Device; d >= 0 { // dumps do not say
				k.Device = d
			}
		}
		add(k)
	}
	for t := range p.traces {
		if x := &p.traces[t]; !p.taken[t] {
			add(Rank{Host: cmp.Or(x.host, strings.TrimSuffix(filepath.Base(a.in.Names[x.export]), ".sqlite")), PID: x.PID, Device: x.Device,
				Process: None, Export: x.export, Recorded: x.index})
		}
	}
	slices.SortStableFunc(a.r.Ranks, func(x, y Rank) int {
		return cmp.Or(cmp.Compare(x.Host, y.Host), cmp.Compare(x.Device, y.Device), cmp.Compare(x.PID, y.PID))
	})
	for i := range a.r.Ranks {
		a.r.Ranks[i].Rank = i
	}
}
