package align

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/sfstat/sfstat/trace/nccl"
)

// Process is what is known of one process: the calls it logged and the kernels it ran.
type Process struct {
	Calls   []Call   // in the order of the log
	Kernels []Kernel // of NCCL, in any order
	Clock   int      // of the kernels' times: processes with the same one compare
}

// Match is one kernel with the calls that it ran.
type Match struct {
	Kernel int
	Launch int   // index of Matching.Launches
	Margin int32 // tenths of a nat by which the best alignment beats any without this match
}

// Run is consecutive launches of one stream of which some, but not certainly which,
// have no kernel, or the other way round: every choice is as good.
type Run struct {
	Launches, Kernels int // in the run
	First, Last       int // launches
}

// Streams is a stream of the log and one of the trace that are the same.
type Streams struct {
	Log   uint64
	Trace int64
	Pairs int
}

// Matching is the result for one process.
type Matching struct {
	Launches  []Launch
	Why       []Reason // of every call
	Matches   []Match
	Certain   int32 // margin from which a match is certain
	Streams   []Streams
	Ambiguous []Run
	Offset    int64 // nanoseconds from a call's stamp to the launch of its kernel, the median
	Timed     bool  // stamps and launches counted
	Replayed  int   // kernels that graphs launched, which have no call of their own
}

// IsCertain says whether the match holds in every alignment that is nearly as good.
func (m *Matching) IsCertain(k Match) bool { return k.Margin >= m.Certain }

// Calls pairs the calls of a process with its kernels: groups become launches ([Plan]), the log's
// streams the trace's, and each stream's launches are aligned with its kernels,
// twice or more: what kernels calls of one kind usually run in, and how long after the
// stamp they are launched, is learned from one alignment for the next.
func Calls(p Process, sc Scoring) (*Matching, error) {
	launches, why := Plan(p.Calls, len(p.Kernels))
	m := &Matching{Launches: launches, Why: why, Certain: sc.CertainMargin, Replayed: replayed(p.Kernels)}
	parts := divide(&p, launches, &sc)
	clock := clocks{use: sc.UseTime && stamped(&p), spread: reach / 30}
	for round := range max(sc.Rounds, 1) {
		results := make([]*Result, len(parts))
		for i := range parts {
			parts[i].setClock(clock)
			var err error
			results[i], err = Solve(parts[i].evidence, Options{Rows: sc.Skip, Columns: sc.Skip, Width: DefaultWidth})
			if err != nil {
				return nil, err
			}
		}
		if clock.use {
			clock = learnClock(parts, results, clock)
			m.Offset, m.Timed = clock.offset, true
		}
		if round == max(sc.Rounds, 1)-1 {
			m.collect(parts, results)
			break
		}
		for i := range parts {
			parts[i].learn(results[i], sc.Learned)
		}
	}
	return m, nil
}

// stamped says whether the calls have stamps and the kernels launches, so that times count.
func stamped(p *Process) bool {
	calls, kernels := 0, 0
	for i := range p.Calls {
		if p.Calls[i].HasTime {
			calls++
		}
	}
	for i := range p.Kernels {
		if p.Kernels[i].HasLaunch || p.Kernels[i].Replay {
			kernels++
		}
	}
	return calls > 0 && calls == len(p.Calls) && kernels > 0 && kernels == len(p.Kernels)
}

func replayed(kernels []Kernel) (n int) {
	for i := range kernels {
		if kernels[i].Replay {
			n++
		}
	}
	return n
}

// part is one stream: some launches and some kernels.
type part struct {
	*evidence
	log       uint64
	trace     int64
	launchIDs []int // of Matching.Launches
	kernelIDs []int
}

// divide parts launches and kernels by stream, and finds which streams are the
// same: those first that have most in common.
func divide(p *Process, launches []Launch, sc *Scoring) []part {
	byLog := map[uint64][]int{}
	streamOf := map[int]uint64{} // of a communicator, as its last call said
	for i := len(launches) - 1; i >= 0; i-- {
		if l := &launches[i]; l.Lead >= 0 {
			streamOf[l.Comm] = p.Calls[l.Lead].Stream
		}
		byLog[streamOf[launches[i].Comm]] = append(byLog[streamOf[launches[i].Comm]], i)
	}
	byTrace := map[int64][]int{}
	for _, j := range byStart(p.Kernels) {
		byTrace[p.Kernels[j].Stream] = append(byTrace[p.Kernels[j].Stream], j)
	}
	logs, traces := sortedKeys(byLog), sortedKeys(byTrace)
	for _, s := range logs {
		slices.Reverse(byLog[s])
	}
	var parts []part
	for _, pair := range assign(p, launches, byLog, byTrace, logs, traces) {
		part := part{log: pair.Log, trace: pair.Trace, launchIDs: byLog[pair.Log], kernelIDs: byTrace[pair.Trace]}
		ls, ks := make([]*Launch, len(part.launchIDs)), make([]*Kernel, len(part.kernelIDs))
		for k, i := range part.launchIDs {
			ls[k] = &launches[i]
		}
		for k, j := range part.kernelIDs {
			ks[k] = &p.Kernels[j]
		}
		part.evidence = newEvidence(sc, p.Calls, ls, ks)
		parts = append(parts, part)
	}
	return parts
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// symbol is what both sides know of one kernel by its name.
type symbol struct {
	op       nccl.Op
	datatype nccl.Datatype
}

// assign pairs streams by how many launches and kernels of the same name follow
// one another in both, the most first. Ties fall to the lower stream.
func assign(p *Process, launches []Launch, byLog map[uint64][]int, byTrace map[int64][]int, logs []uint64, traces []int64) []Streams {
	bags := make([]map[[2]symbol]int, len(traces))
	for t, s := range traces {
		bags[t] = bigrams(byTrace[s], func(j int) symbol {
			k := &p.Kernels[j]
			return symbol{k.Op, k.Datatype.Signless()}
		})
	}
	var all []candidate
	for l, s := range logs {
		bag := bigrams(byLog[s], func(i int) symbol { return launches[i].symbol(p.Calls) })
		for t, s2 := range traces {
			common := 0
			for g, n := range bag {
				common += min(n, bags[t][g])
			}
			all = append(all, candidate{l, t, float64(2*common) / float64(len(byLog[s])+len(byTrace[s2]))})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.like, a.like) })
	usedLog, usedTrace := make([]bool, len(logs)), make([]bool, len(traces))
	var pairs []Streams
	for _, c := range all {
		if !usedLog[c.log] && !usedTrace[c.trace] && c.like > 0 {
			usedLog[c.log], usedTrace[c.trace] = true, true
			pairs = append(pairs, Streams{Log: logs[c.log], Trace: traces[c.trace]})
		}
	}
	return pairs
}

type candidate struct {
	log, trace int
	like       float64 // 0 to 1
}

func (l *Launch) symbol(calls []Call) symbol {
	s := symbol{l.Op, nccl.UnknownType}
	if l.Lead >= 0 && l.Op.Reduces() {
		s.datatype = calls[l.Lead].Datatype.Signless()
	}
	return s
}

// bigrams counts neighbours, and each one by itself.
func bigrams(ids []int, of func(int) symbol) map[[2]symbol]int {
	bag := map[[2]symbol]int{}
	var before symbol
	for _, i := range ids {
		s := of(i)
		bag[[2]symbol{{}, s}]++
		bag[[2]symbol{before, s}]++
		before = s
	}
	return bag
}

// learnClock takes the median distance from stamp to launch, and how far a pair is
// usually off it, from what is aligned.
func learnClock(parts []part, results []*Result, old clocks) clocks {
	var off []int64
	for i, r := range results {
		e := parts[i].evidence
		for _, p := range r.Pairs {
			if e.launches[p.Row].Lead >= 0 && e.kernels[p.Column].HasLaunch && e.stamps[p.Row] != math.MinInt64 {
				off = append(off, e.kernels[p.Column].Launch-e.stamps[p.Row])
			}
		}
	}
	if len(off) < 8 {
		return old
	}
	slices.Sort(off)
	c := clocks{use: true, offset: off[len(off)/2]}
	for i, d := range off {
		off[i] = max(d-c.offset, c.offset-d)
	}
	slices.Sort(off)
	c.spread = max(off[len(off)/2]*13/9, 1000) // the scale of a Laplace distribution is its median deviation / ln 2
	return c
}

// learn sets the table anew and adds to it which shapes of kernel the calls of one class had, as far as they
// were aligned without doubt: ten times the logarithm of how much more often than by chance.
func (e *evidence) learn(r *Result, most int32) {
	if !e.sc.UseShape {
		return
	}
	e.forget()
	joint := make(map[[2]int]float64)
	of := make([]float64, len(e.classes))
	kinds := make([]float64, len(e.shapes))
	total := 0.0
	for _, p := range r.Pairs {
		c, k := e.rowKinds[p.Row], e.kinds[p.Column]
		if e.classes[c].ghost {
			continue
		}
		weight := 0.2
		if p.Margin > 0 {
			weight = 1
		}
		joint[[2]int{c, k}] += weight
		of[c] += weight
		kinds[k] += weight
		total += weight
	}
	for c := range e.classes {
		if of[c] < 2 {
			continue
		}
		for k := range e.shapes {
			if e.table[c][k] <= Never {
				continue
			}
			chance := (kinds[k] + 0.5) / (total + 0.5*float64(len(e.shapes)))
			odds := (joint[[2]int{c, k}] + chance) / (of[c] + 1) / chance
			e.table[c][k] += int32(min(max(10*math.Log(odds), -float64(most)), float64(most)))
		}
	}
}

// collect makes the matching of the parts' alignments.
func (m *Matching) collect(parts []part, results []*Result) {
	for i, r := range results {
		part := &parts[i]
		m.Streams = append(m.Streams, Streams{Log: part.log, Trace: part.trace, Pairs: len(r.Pairs)})
		for _, p := range r.Pairs {
			m.Matches = append(m.Matches, Match{Kernel: part.kernelIDs[p.Column], Launch: part.launchIDs[p.Row], Margin: p.Margin})
		}
		m.Ambiguous = append(m.Ambiguous, part.ambiguous(r, m.Certain)...)
	}
	sort.Slice(m.Matches, func(a, b int) bool { return m.Matches[a].Kernel < m.Matches[b].Kernel })
}

// ambiguous finds the runs of launches that are not certain, where some lack a partner.
func (p *part) ambiguous(r *Result, certain int32) []Run {
	var runs []Run
	doubtful := make([]bool, len(p.launchIDs))
	paired := make([]bool, len(p.launchIDs))
	for i, margin := range r.SkippedRows {
		doubtful[i] = margin >= 0 && margin < certain
	}
	for _, q := range r.Pairs {
		paired[q.Row] = true
		doubtful[q.Row] = q.Margin < certain
	}
	for i := 0; i < len(doubtful); {
		if !doubtful[i] {
			i++
			continue
		}
		run := Run{First: p.launchIDs[i]}
		for ; i < len(doubtful) && doubtful[i]; i++ {
			run.Launches++
			run.Last = p.launchIDs[i]
			if paired[i] {
				run.Kernels++
			}
		}
		runs = append(runs, run)
	}
	return runs
}
