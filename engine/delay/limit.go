package delay

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/points"
)

const (
	// asReported is by how much the delay is larger, that is found nearly always, than the
	// smallest that is found at all.
	asReported = 1.15
	// trials is how often a delay that would not be certain is made larger, by asReported.
	trials = 12
	// seenTrials is how often a delay that saves MinGain is made larger at most for its stage to be one that
	// shows a delay worth acting on.
	seenTrials = 1
)

// limits computes for each stage the smallest delay of one rank in every step that would have
// been found in what is left and would save at least MinGain of the run; and how long ranks that
// synchronise in a stage may be at work there.
func (s *series) limits(o Options) []Limit {
	out := make([]Limit, len(s.Stages))
	for i := range out {
		out[i].Stage = i
	}
	for p, point := range s.Points {
		if s.Stages[point.Stage].Role != points.Wait {
			out[point.Stage].MayHide, out[point.Stage].Known = max(0, s.meanMinWait(p)-s.usualBetweenMeetings(point.Stage)), true
		}
	}
	cost := s.length(s.arrive) * o.MinGain / (1 - o.MinGain)
	for k, piece := range s.Pieces {
		if s.Every > 0 && piece.Tail { // of the step in which ranks meet: a part of what the others have of the stage
			continue
		}
		if s.waitsPerhaps(piece.Stage) {
			out[piece.Stage].MayHide, out[piece.Stage].Known = s.meanMinWork(k), true
			if s.Stages[piece.Stage].Role != points.Collective { // or nobody waits there
				out[piece.Stage].MayHide = max(out[piece.Stage].MayHide, s.largestExcess(k))
			}
			continue
		}
		l := &out[piece.Stage]
		least, tries := s.detectableDelay(k, cost, o)
		l.Reported, l.Known, l.Seen = int64(math.Ceil(asReported*least)), true, least > 0 && tries <= seenTrials
	}
	return out
}

// waitsPerhaps reports whether ranks may synchronise in a stage in which they are not seen to.
func (s *series) waitsPerhaps(stage int) bool {
	return slices.Contains(s.Perhaps, stage) || s.Stages[stage].Role == points.Collective
}

// partOfRun is the part of the intervals that a delay strikes at least to be one that the run has, and not some of its steps.
const partOfRun = 1.0 / 3

// FewestIntervals returns in how many intervals one of so many ranks can be told that is late in a third of them, for certain or
// as one that may be late by chance, where little else is charged.
func FewestIntervals(ranks int) int {
	n := fewestBlocks
	for struck := 0; ranks > 1 && (struck < fewestStruck || forms*math.Pow(float64(ranks), 1-float64(struck)) > doubted); n++ {
		struck = int(math.Ceil(partOfRun * float64(n+1)))
	}
	return n
}

// meanMinWait returns the mean over steps of the shortest time that a rank spends in a point's stage.
func (s *series) meanMinWait(p int) int64 {
	sum, n := int64(0), int64(0)
	for i, t := range s.Head {
		if t >= 0 {
			sum += slices.Min(s.Spent[p][i*s.Ranks : (i+1)*s.Ranks])
			n++
		}
	}
	return sum / max(1, n)
}

// usualBetweenMeetings returns the time that all ranks take in a stage in a step between meetings, divided by the period, ns. That much of their
// time at a meeting is work, and not the delay of one rank. 0 where ranks synchronise in every step.
func (s *series) usualBetweenMeetings(stage int) int64 {
	for k, piece := range s.Pieces {
		if s.Every > 1 && piece.Stage == stage && !piece.Tail {
			return int64(median(s.common[k])) / int64(s.Every-1)
		}
	}
	return 0
}

// meanMinWork returns the mean over steps of the shortest time that a rank spends in a piece.
func (s *series) meanMinWork(k int) int64 {
	sum, n := int64(0), int64(0)
	for i := range s.Intervals {
		if s.Step(i, k) >= 0 {
			sum += slices.Min(s.Work[k][i*s.Ranks : (i+1)*s.Ranks])
			n++
		}
	}
	return sum / max(1, n)
}

// largestExcess returns what the rank that takes longest for a piece takes longer than the middle one, mean over steps, ns: its delay, if ranks do
// not wait there.
func (s *series) largestExcess(k int) int64 {
	sum := make([]int64, s.Ranks)
	for i, x := range s.Work[k] {
		sum[i%s.Ranks] += x
	}
	slices.Sort(sum)
	return (sum[s.Ranks-1] - sum[(s.Ranks-1)/2]) / int64(max(1, s.Intervals))
}

// detectableDelay returns the delay in a piece that would be found and costs so much at least, the median over ranks at
// the quartiles of arrival, and how often the delay with the cost was made larger for that; 0: none would be found.
func (s *series) detectableDelay(k int, cost float64, o Options) (delay float64, tries int) {
	p := s.Pieces[k].Point
	mean := make([]float64, s.Ranks)
	for n, x := range s.arrive[p] {
		mean[n%s.Ranks] += float64(x)
	}
	order := make([]int, s.Ranks)
	for r := range order {
		order[r] = r
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
	ranks := order
	switch {
	case o.Limits == SeenLimits:
		ranks = order[s.Ranks/2 : s.Ranks/2+1]
	case s.Ranks > 3:
		ranks = []int{order[s.Ranks/4], order[s.Ranks/2], order[3*s.Ranks/4]}
	}
	var found []float64
	var larger []int
	for _, r := range ranks {
		x, n := s.detectableDelayOf(k, r, cost, o)
		found, larger = append(found, x), append(larger, n)
	}
	slices.Sort(found)
	slices.Sort(larger)
	if x := found[len(found)/2]; !math.IsInf(x, 1) {
		return x, larger[len(larger)/2]
	}
	return 0, trials
}

// detectableDelayOf returns the delay of one rank: as large as has the cost, given who arrives when, and then
// larger until it is certain; and how often it was made larger.
func (s *series) detectableDelayOf(k, r int, cost float64, o Options) (delay float64, tries int) {
	R, p := s.Ranks, s.Pieces[k].Point
	if len(s.peers[s.of[r]]) < 2 {
		return math.Inf(1), trials
	}
	lack := make([]float64, s.Intervals) // behind the last of the others
	for n := range lack {
		row := s.arrive[p][n*R : (n+1)*R]
		last := int64(math.MinInt64)
		for q, x := range row {
			if q != r {
				last = max(last, x)
			}
		}
		lack[n] = max(0, float64(last-row[r]))
	}
	at := s.plant(k, r)
	at.delay = delayOfCost(lack, cost)
	most := trials
	if o.Limits == SeenLimits {
		most = seenTrials + 1
	}
	for n := range most {
		if at.chance() <= o.Level {
			return at.delay, n
		}
		at.delay *= asReported
	}
	return math.Inf(1), trials
}

// delayOfCost returns the delay for which Σ max(0, delay − lack) is a given cost.
func delayOfCost(lack []float64, cost float64) float64 {
	v := slices.Clone(lack)
	slices.Sort(v)
	sum := 0.0
	for i, x := range v {
		sum += x
		// With the delay below the next value, i+1 intervals count.
		d := (cost + sum) / float64(i+1)
		if i+1 == len(v) || d <= v[i+1] {
			return d
		}
	}
	return cost
}

// planting is a delay of one rank in every interval that is put in.
type planting struct {
	*series
	piece, rank int
	e, lead     []float64 // [interval] of the rank
	level       float64   // trimmed mean of e
	delay       float64
}

// plant returns a delay of a rank in a piece, of no size yet.
func (s *series) plant(piece, rank int) planting {
	at := planting{series: s, piece: piece, rank: rank, e: s.column(s.excess[piece], rank), lead: s.column(s.lead[s.Pieces[piece].Point], rank)}
	at.level = winsorizedMean(at.e)
	return at
}

// chance returns the chance of the delay, at its apparent size.
func (s *planting) chance() float64 {
	k, claim := s.piece, s.level+s.delay
	own, left := make([]float64, len(s.e)), make([]float64, len(s.e))
	for n, x := range s.e {
		left[n], own[n] = x+s.delay-claim, min(x, s.lead[n])+s.delay
	}
	before := s.charge[k]
	s.charge[k] = s.addCharges(before)
	p := s.test(cell{s.rank, k}, shape{claim: claim}, own, left).p
	s.charge[k] = before
	return p
}

// addCharges returns the charges with the delay's, less its rank's own.
func (s *planting) addCharges(before charges) charges {
	slack := slackOfNoise * s.noise[s.piece]
	c := charges{total: before.total, sum: before.sum, largest: slices.Clone(before.largest), entries: make([]entry, 0, len(before.entries)+len(s.e))}
	i := 0
	for n, x := range s.e {
		at := entry{at: int32(n), rank: int32(s.rank)}
		for ; i < len(before.entries) && before.entries[i].precedes(at); i++ {
			c.entries = append(c.entries, before.entries[i])
		}
		if i < len(before.entries) && !at.precedes(before.entries[i]) {
			c.sum -= before.entries[i].x
			i++
		}
		if s.Step(n, s.piece) < 0 {
			continue
		}
		c.largest[n] = max(c.largest[n], min(x, s.lead[n])+s.delay)
		if at.x = min(x-slack, s.lead[n]) + s.delay; at.x > 0 {
			c.entries = append(c.entries, at)
			c.sum += at.x
		}
	}
	c.entries = append(c.entries, before.entries[i:]...)
	return c
}

// precedes reports the order of charges: by interval, and of one interval by rank.
func (e entry) precedes(other entry) bool {
	return e.at < other.at || e.at == other.at && e.rank < other.rank
}
