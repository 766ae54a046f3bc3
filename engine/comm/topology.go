package comm

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Machine is the topology of one host, as NCCL printed it there.
type Machine struct {
	Host    string
	Devices []comms.Device // each once, in the order of the log; Rank is of the job
	Links   []Link
	Paths   []Path // between its ranks, ascending, and from each to the network
}

// Link is a link between two devices of a machine.
type Link struct {
	From, To  int // index of Devices
	Class     nccl.Link
	Bandwidth float64 // GB/s; 0: not known
}

// Path is the widest path between two ranks of the job that any topology shows.
type Path struct {
	From      int       // rank of the job
	To        int       // rank of the job; negative: the network
	Class     nccl.Link // class of the worst link
	Bandwidth float64   // gigabytes per second of the narrowest link
}

// Machines returns the machines of the job's ranks whose logs have it (NCCL_DEBUG_SUBSYS=GRAPH), by host.
func Machines(r *Result) []Machine {
	t := topology{r: r, members: r.memberNumbers()}
	t.links()
	t.paths()
	hosts := map[string]bool{}
	for i := range r.Ranks {
		if p := r.Ranks[i].Log; p != comms.None {
			hosts[r.Recorded.Processes[p].Host] = true
		}
	}
	list := slices.DeleteFunc(t.list.All, func(m Machine) bool { return !hosts[m.Host] })
	slices.SortFunc(list, func(a, b Machine) int { return cmp.Compare(a.Host, b.Host) })
	return list
}

type topology struct {
	r       *Result
	list    ordered.List[string, Machine] // by host
	members []map[int]int                 // of each communicator
}

func (t *topology) machine(group int) *Machine {
	host := t.r.Recorded.Processes[t.r.Recorded.Groups[group].Process].Host
	m, _ := t.list.Of(host)
	m.Host = host
	return m
}

// member returns the number in the job of a rank of a group, −1 where it left no log.
func (t *topology) member(group, rank int) int {
	if g := t.r.recordedOn(group); g != comms.None {
		if n, known := t.members[g][rank]; known && rank >= 0 {
			return n
		}
	}
	return -1
}

func (t *topology) links() {
	seen := map[string]ordered.Numbers[string]{} // of each host's Devices, by name
	for _, l := range t.r.Recorded.Links {
		m := t.machine(l.Group)
		if seen[m.Host] == nil {
			seen[m.Host] = ordered.Numbers[string]{}
		}
		device := func(d comms.Device) int {
			i, first := seen[m.Host].Of(d.Name)
			if first {
				d.Rank = t.member(l.Group, d.Rank)
				m.Devices = append(m.Devices, d)
			}
			return i
		}
		from := device(l.From)
		m.Links = append(m.Links, Link{From: from, To: device(l.To), Class: l.Class, Bandwidth: l.Bandwidth})
	}
}

func (t *topology) paths() {
	widest := map[string]map[[2]int]Path{}
	for _, p := range t.r.Recorded.Paths {
		from, to := t.member(p.Group, p.From), comms.ToNetwork
		if p.To != comms.ToNetwork {
			to = t.member(p.Group, p.To)
			from, to = min(from, to), max(from, to)
		}
		if from < 0 || from == to {
			continue
		}
		m := t.machine(p.Group)
		if widest[m.Host] == nil {
			widest[m.Host] = map[[2]int]Path{}
		}
		key := [2]int{from, to}
		if p.Bandwidth > widest[m.Host][key].Bandwidth {
			widest[m.Host][key] = Path{From: from, To: to, Class: p.Class, Bandwidth: p.Bandwidth}
		}
	}
	for host, paths := range widest {
		m, _ := t.list.Of(host)
		for _, p := range paths {
			m.Paths = append(m.Paths, p)
		}
		slices.SortFunc(m.Paths, func(a, b Path) int {
			return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(uint(a.To), uint(b.To)))
		})
	}
}
