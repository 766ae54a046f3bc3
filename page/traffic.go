package page

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/suspects"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
)

const (
	mostSpeeds  = 2000 // communicators and pairs of ranks, by operation and size
	mostVolumes = 1000 // communicators, by operation
	mostSenders = 128  // rows of the matrix
	mostWaits   = 128  // ranks that wait in collectives
)

// Traffic is what was communicated, of a run with NCCL's calls.
type Traffic struct {
	Leads   bool     `json:"leads"`  // the first finding rests on it
	Named   []int    `json:"named"`  // IDs of ranks that findings name
	Speeds  []Speed  `json:"speeds"` // slower ones than their peers first
	Limits  bool     `json:"limits"` // any is known
	Volumes []Volume `json:"volumes"`
	Left    int      `json:"left"` // volumes that are not shown, the smallest
	Sent    *Sent    `json:"sent"` // nil where no bytes between ranks are known
	Waits   []Wait   `json:"waits"`
}

// Speed is how fast the calls of one operation and size class moved data over a
// communicator, or between two ranks.
type Speed struct {
	Name       string  `json:"name"`
	Kind       string  `json:"kind"` // what the communicator is for; "" where that is not known
	Ranks      string  `json:"ranks"`
	Op         string  `json:"op"`
	From       int64   `json:"from_bytes"` // to twice as much
	Calls      int     `json:"calls"`
	Transfer   int64   `json:"transfer_ns"`
	Bus        float64 `json:"bus_gbps"`
	Link       string  `json:"limit_link"`
	Limit      float64 `json:"limit_gbps"` // 0: not known
	Efficiency float64 `json:"efficiency"`
	Standing   string  `json:"beside_peers"`
	Slow       bool    `json:"slow"`
	PeerBus    float64 `json:"peers_bus_gbps"`
}

// Volume is what was called on a communicator by one operation, over all ranks.
type Volume struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Ranks string `json:"ranks"`
	Op    string `json:"op"`
	Calls int64  `json:"calls"`
	Bytes int64  `json:"bytes"` // as logged: count × size of the type
}

// Sent is how many bytes ranks send each other.
type Sent struct {
	Ranks    []int     `json:"ranks"` // ID of the first of each row and column
	Width    int       `json:"width"` // ranks of a row and column; the last may have fewer
	Last     int       `json:"last"`  // ID of the last rank
	Bytes    [][]int64 `json:"bytes"` // [from][to]
	Unplaced int64     `json:"unplaced_bytes"`
}

// Wait is how a rank arrives at collectives.
type Wait struct {
	Rank   int    `json:"rank"` // ID
	Host   string `json:"host"`
	Of     int    `json:"of"`
	Last   int    `json:"last"`
	Own    int64  `json:"own_ns"`
	Caused int64  `json:"caused_ns"`
	Waited int64  `json:"waited_ns"`
	Moving int64  `json:"transfer_ns"`
}

// traffic returns the traffic of calls; nil where there are none.
func traffic(calls []*comms.Record, limits *comm.Benchmarks, v *diagnose.RunVerdict) *Traffic {
	all := comms.Join(calls...)
	if len(all.Calls) == 0 {
		return nil
	}
	r := v.Traffic
	if r == nil { // without kernels, of which the verdict has no use
		var err error
		if r, err = comm.Analyze(all, comm.Options{Theory: comm.Theory{Benchmarks: limits}}); err != nil {
			return nil // the verdict says why
		}
	}
	if len(r.Calls) == 0 {
		return nil
	}
	t := &Traffic{Leads: v.Answer().Basis == diagnose.OnCommunication, Named: append([]int{}, suspectRanks(v)...), Speeds: speeds(r), Sent: byteMatrix(r), Waits: waitsOf(r)}
	t.Limits = slices.ContainsFunc(t.Speeds, func(s Speed) bool { return s.Limit > 0 })
	t.Volumes = volumes(r)
	t.Left = max(0, len(t.Volumes)-mostVolumes)
	t.Volumes = t.Volumes[:len(t.Volumes)-t.Left]
	return t
}

// kindOf returns what a communicator is for, "" where that is not known.
func kindOf(k parallel.Kind) string {
	if k == parallel.UnknownKind {
		return ""
	}
	return k.String()
}

func speeds(r *comm.Result) []Speed {
	out := []Speed{}
	for i := range r.Speed.Cells {
		c := &r.Speed.Cells[i]
		if !c.CarriesData() {
			continue
		}
		l := c.Limit
		s := Speed{Op: r.WorkOf(c), From: 1 << c.Class, Calls: len(c.Calls), Transfer: c.Transfer, Bus: round(c.Bus), Standing: c.Standing.String(),
			Slow: c.Standing == comm.Slower, PeerBus: round(c.PeerBus)}
		if l.Bandwidth > 0 {
			s.Link, s.Limit, s.Efficiency = l.Source(), round(l.Bandwidth), round(c.Efficiency)
		}
		of := &r.Speed.Subjects[c.Subject]
		g := &r.Communicators[of.Communicator]
		if s.Kind, s.Ranks = kindOf(g.Kind), trace.RankList(r.RanksOf(c.Subject)); !of.Edge {
			s.Name = glyph.Visible(g.ID)
		}
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b Speed) int { return cmp.Compare(a.rank(), b.rank()) })
	return out[:min(mostSpeeds, len(out))]
}

// rank puts what is slower than its peers first.
func (s *Speed) rank() int {
	if s.Slow {
		return 0
	}
	return 1
}

// round returns a number of five digits; 0 where it is none.
func round(x float64) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	scale := math.Pow(10, 4-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*scale) / scale
}

// volumes returns the operations of communicators, most bytes first.
func volumes(r *comm.Result) []Volume {
	out := []Volume{}
	for i := range r.Communicators {
		c := &r.Communicators[i]
		for _, u := range c.Ops {
			out = append(out, Volume{Name: glyph.Visible(c.ID), Kind: kindOf(c.Kind), Ranks: trace.RankList(c.Ranks), Op: u.Op.String(), Calls: u.Calls, Bytes: u.Bytes})
		}
	}
	slices.SortStableFunc(out, func(a, b Volume) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out
}

// byteMatrix returns the matrix of bytes. Of many ranks, as many neighbours share a row as
// make it fit.
func byteMatrix(r *comm.Result) *Sent {
	list, unplaced := comm.SentBetween(r)
	if len(list) == 0 {
		return nil
	}
	var ranks []int
	for _, x := range list {
		ranks = append(ranks, x.From, x.To)
	}
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	s := &Sent{Width: 1, Last: ranks[len(ranks)-1], Unplaced: int64(unplaced)}
	for (len(ranks)+s.Width-1)/s.Width > mostSenders {
		s.Width *= 2
	}
	at := make(map[int]int, len(ranks))
	for i, id := range ranks {
		at[id] = i / s.Width
		if i%s.Width == 0 {
			s.Ranks = append(s.Ranks, id)
		}
	}
	sums := make([]float64, len(s.Ranks)*len(s.Ranks))
	for _, x := range list {
		sums[at[x.From]*len(s.Ranks)+at[x.To]] += x.Bytes
	}
	for row := range slices.Chunk(sums, len(s.Ranks)) {
		bytes := make([]int64, len(row))
		for i, x := range row {
			bytes[i] = int64(math.Round(x))
		}
		s.Bytes = append(s.Bytes, bytes)
	}
	return s
}

// waitsOf returns the ranks, those first that delay collectives by themselves for longest.
func waitsOf(r *comm.Result) []Wait {
	out := []Wait{}
	all, _ := suspects.LatenessOf(r)
	for _, l := range all {
		if l.Of > 0 {
			out = append(out, Wait{Rank: r.Ranks[l.Rank].Rank, Host: glyph.Visible(r.Ranks[l.Rank].Host), Of: l.Of, Last: l.Last, Own: l.Own, Caused: l.Caused, Waited: l.Waited, Moving: l.Moving})
		}
	}
	slices.SortStableFunc(out, func(a, b Wait) int { return cmp.Compare(b.Own, a.Own) })
	return out[:min(mostWaits, len(out))]
}
