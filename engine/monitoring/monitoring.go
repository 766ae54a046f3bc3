// Package monitoring compares what was measured of the devices and hosts of a job,
// while something was wrong with it, with the same quantities of the others.
//
// What monitoring samples every second, or every quarter of a minute, becomes one value of
// every unit over the times that are asked about:
//
//   - of a value of the moment, the median of its readings; of one that is 0 or 1,
//     their mean, the part of the time;
//   - of a counter, by how much it grew a second. Where it falls it was set back,
//     and what it grew before is counted.
//
// Readings count that lie in one of the times, or beside it by no more than their own
// usual distance, MaxReach at most: a time may be shorter than that distance, and
// the clocks of hosts differ by parts of it. Where no time is known, of the readings
// or of what went wrong, all of them count.
//
// A unit is then compared with its peers (package peers), and a difference is reported where it is
// large enough to matter, in the direction that can slow a job down, beyond all peers,
// and not by chance: p ≤ gates.Strong, multiplied by the number of comparisons. Of fewer than
// [peers.FewestTested] peers that last condition falls away, and the result says so.
//
// A difference says what was so at the same time. It proves nothing: a GPU that waits is cooler
// because its rank is late, and not the other way round.
package monitoring

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/peers"
	"github.com/sfstat/sfstat/trace/health"
)

// Unit is a device of a host, or (Device −1) the host as a whole.
type Unit struct {
	Host   string
	Device int
}

// Interval is a time, From and To included, ns since 1970.
type Interval struct{ From, To int64 }

// MaxReach is how far beside a time a reading may lie, ns.
const MaxReach = 60e9

// Job is what was measured of the units of a job. The zero value has none.
type Job struct {
	series map[Unit]map[health.Quantity][]health.Reading
	units  []Unit // in order
}

// Add adds a series as one of a unit, which several files may have told. It keeps the readings.
func (j *Job) Add(u Unit, s *health.Series) {
	if j.series == nil {
		j.series = make(map[Unit]map[health.Quantity][]health.Reading)
	}
	of := j.series[u]
	if of == nil {
		of = make(map[health.Quantity][]health.Reading)
		j.series[u] = of
		at, _ := slices.BinarySearchFunc(j.units, u, compareUnits)
		j.units = slices.Insert(j.units, at, u)
	}
	all := append(of[s.Quantity], s.Readings...)
	if !slices.IsSortedFunc(all, compareTimes) {
		slices.SortStableFunc(all, compareTimes)
	}
	of[s.Quantity] = all
}

func compareTimes(a, b health.Reading) int { return cmp.Compare(a.At, b.At) }

func compareUnits(a, b Unit) int {
	return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device))
}

// Difference is a quantity in which a unit differs from its peers.
type Difference struct {
	Unit
	Quantity health.Quantity
	peers.Result
	P        float64 // of all comparisons that were made; Result.P is of this one
	Tests    int     // those
	Readings int     // of the unit
	// Timeless: it is of all readings, for their times are not known, or those that
	// were asked about.
	Timeless bool
}

// Question is what to compare.
type Question struct {
	Units []Unit     // that are suspected, by something else
	Peers []Unit     // of the job, the suspected ones among them
	Times []Interval // in which; nil: not known
}

// Differences returns the unusual readings of the suspected units, the nearest to a cause first, and every comparison.
func (j *Job) Differences(q Question) (unusual, compared []Difference) {
	var all []Difference
	var large []bool // of all
	for _, quantity := range health.Quantities() {
		r, ok := rules[quantity]
		if !ok {
			continue
		}
		if slices.ContainsFunc(instead[quantity], func(of health.Quantity) bool { values, _ := j.values(of, q); return comparable(values, q.Units) }) {
			continue
		}
		values, timeless := j.values(quantity, q)
		for i, v := range values {
			if !slices.Contains(q.Units, v.Unit) {
				continue
			}
			if others := referenceValues(values, i, q.Units); len(others) > 0 {
				d := Difference{Unit: v.Unit, Quantity: quantity, Result: peers.Compare(v.value, others, r.options(v, others)), Readings: v.n, Timeless: timeless}
				d.Tested = d.Tested && !r.once
				all, large = append(all, d), append(large, r.matters(d.Result, v.span))
			}
		}
	}
	var out []Difference
	for i, d := range all {
		d.Tests, d.P = len(all), min(1, d.Result.P*float64(len(all)))
		if d.Extreme && large[i] && (!d.Tested || d.P <= gates.Strong) {
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b Difference) int {
		return cmp.Compare(rules[a.Quantity].turn, rules[b.Quantity].turn)
	})
	return out, all
}

// comparable reports whether there are values of a suspected unit and of another.
func comparable(values []value, suspected []Unit) bool {
	return len(values) > 1 && slices.ContainsFunc(values, func(v value) bool { return slices.Contains(suspected, v.Unit) })
}

// value is one value of a unit.
type value struct {
	Unit
	value float64
	n     int     // readings
	span  float64 // seconds that they cover
}

// values returns the values of a quantity of all peers; timeless: of all times.
func (j *Job) values(quantity health.Quantity, q Question) (all []value, timeless bool) {
	times := q.Times
	timed := slices.ContainsFunc(q.Peers, func(u Unit) bool {
		of := j.series[u][quantity]
		return len(of) > 0 && of[len(of)-1].At > 0
	})
	if !timed {
		times = nil
	}
	for _, u := range q.Peers {
		if v, ok := reduce(j.series[u][quantity], quantity, times); ok {
			v.Unit = u
			all = append(all, v)
		}
	}
	return all, times == nil
}

// referenceValues returns the values of the units that are not suspected, and where those are
// all units, of all but one.
func referenceValues(values []value, but int, suspected []Unit) (others []float64) {
	every := !slices.ContainsFunc(values, func(v value) bool { return !slices.Contains(suspected, v.Unit) })
	for i, v := range values {
		if i != but && (every || !slices.Contains(suspected, v.Unit)) {
			others = append(others, v.value)
		}
	}
	return others
}

// reduce makes one value of the readings in some times.
func reduce(all []health.Reading, q health.Quantity, times []Interval) (v value, ok bool) {
	kept := all
	if times != nil {
		kept = readingsIn(all, times)
	}
	if v.n = len(kept); v.n == 0 {
		return v, false
	}
	if q.Counter() {
		grown, span := growth(kept, reach(all))
		v.span = span
		v.value = grown / span
		if q.SlowdownTime() {
			v.value = min(1, v.value) // a driver counts in steps of its own
		}
		return v, span > 0
	}
	x := make([]float64, len(kept))
	for i, r := range kept {
		x[i] = r.Value
	}
	if q.Flag() || q == health.Utilization {
		for _, y := range x {
			v.value += y / float64(len(x))
		}
		return v, true
	}
	slices.Sort(x)
	v.value = (x[(len(x)-1)/2] + x[len(x)/2]) / 2
	return v, true
}

// readingsIn returns the readings in some times, or beside them within reach.
func readingsIn(all []health.Reading, times []Interval) (kept []health.Reading) {
	pad := reach(all)
	next := 0 // the first that is not kept yet
	for _, t := range times {
		from := max(next, sort.Search(len(all), func(i int) bool { return all[i].At >= t.From-pad }))
		to := sort.Search(len(all), func(i int) bool { return all[i].At > t.To+pad })
		if from < to {
			kept = append(kept, all[from:to]...)
			next = to
		}
	}
	return kept
}

// reach returns the usual distance of readings, at most MaxReach.
func reach(all []health.Reading) int64 {
	if len(all) < 2 {
		return MaxReach
	}
	return min(MaxReach, (all[len(all)-1].At-all[0].At)/int64(len(all)-1)+1)
}

// growth returns the growth of a counter between consecutive readings, and its seconds.
func growth(all []health.Reading, usual int64) (grown, seconds float64) {
	const longest = 4 // usual distances: beyond is a gap between two times
	for i := 1; i < len(all); i++ {
		apart := all[i].At - all[i-1].At
		if apart <= 0 || apart > longest*usual {
			continue
		}
		seconds += float64(apart) / 1e9
		if by := all[i].Value - all[i-1].Value; by > 0 {
			grown += by
		}
	}
	return grown, seconds
}

// rule is when a difference in a quantity matters: from some part of what is usual on,
// or some amount, or some number of times that a thing happened.
type rule struct {
	turn                  int // nearest to a cause first
	direction             peers.Direction
	factor, amount, times float64
	resolution            float64
	once                  bool // one time is one too many, and needs no test
}

// rules are what can slow a job down, and how much of it is worth a look; none was
// fitted to a sample: each is wide of what equal units differ by.
var rules = map[health.Quantity]rule{
	health.RemapFailed:           {turn: 0, amount: 0.5, once: true},
	health.ECCUncorrected:        {turn: 1, times: 1, once: true},
	health.RowsRemapped:          {turn: 2, times: 1, once: true},
	health.OOMKills:              {turn: 3, times: 1, once: true},
	health.HardwareThermalTime:   {turn: 4, amount: 0.05, resolution: 0.005},
	health.PowerBrakeTime:        {turn: 5, amount: 0.05, resolution: 0.005},
	health.ThermalTime:           {turn: 6, amount: 0.05, resolution: 0.005},
	health.Throttled:             {turn: 7, amount: 0.1, resolution: 0.02},
	health.SMClock:               {turn: 8, direction: peers.Lower, factor: 0.05, resolution: 15}, // clocks step by 15 MHz
	health.MemoryClock:           {turn: 9, direction: peers.Lower, factor: 0.05, resolution: 15},
	health.PowerCapTime:          {turn: 10, amount: 0.25, resolution: 0.02},
	health.PowerCapped:           {turn: 11, amount: 0.25, resolution: 0.05},
	health.CPUSteal:              {turn: 12, amount: 0.02, resolution: 0.005},
	health.SwapIn:                {turn: 13, times: 1000},
	health.PressureMemory:        {turn: 14, amount: 0.05, resolution: 0.01},
	health.CPUThrottled:          {turn: 15, times: 10},
	health.CPUClock:              {turn: 16, direction: peers.Lower, factor: 0.1, resolution: 25},
	health.PressureCPU:           {turn: 17, amount: 0.05, resolution: 0.01},
	health.PressureIO:            {turn: 18, amount: 0.05, resolution: 0.01},
	health.CPUWaitIO:             {turn: 19, amount: 0.05, resolution: 0.01},
	health.CPUBusy:               {turn: 20, amount: 0.2, resolution: 0.02},
	health.Load:                  {turn: 21, amount: 0.5, resolution: 0.1},
	health.Retransmits:           {turn: 22, times: 100},
	health.NetworkDrops:          {turn: 23, times: 100},
	health.NVLinkRecoveries:      {turn: 24, times: 1},
	health.NVLinkReplays:         {turn: 25, times: 100},
	health.NVLinkErrors:          {turn: 26, times: 100},
	health.PCIeReplays:           {turn: 27, times: 10},
	health.RemapPending:          {turn: 28, amount: 0.5, once: true},
	health.RowsRemappedCorrected: {turn: 29, times: 1},
	health.ECCCorrected:          {turn: 30, times: 10},
	health.Temperature:           {turn: 31, amount: 8, resolution: 2},
	health.MemoryTemperature:     {turn: 32, amount: 8, resolution: 2},
	health.MemoryAvailable:       {turn: 33, direction: peers.Lower, amount: 0.2, resolution: 0.01},
	health.Power:                 {turn: 34, direction: peers.Lower, factor: 0.15, resolution: 5},
}

// instead are the times that count for a flag where both were recorded: a flag is what was so at the moment of a
// reading, a time misses nothing between two.
var instead = map[health.Quantity][]health.Quantity{
	health.Throttled:   {health.ThermalTime, health.HardwareThermalTime, health.PowerBrakeTime},
	health.PowerCapped: {health.PowerCapTime},
}

// options returns the options for the comparison of a value. A rare event is known to the root of its count on the others
// (Poisson), once at least.
func (r rule) options(v value, others []float64) peers.Options {
	o := peers.Options{Direction: r.direction, Resolution: r.resolution}
	if r.times > 0 && v.span > 0 {
		o.Resolution = math.Sqrt(max(1, slices.Max(others)*v.span)) / v.span
	}
	return o
}

// matters reports whether a difference is large enough to be looked at. span is the
// seconds that a rate is of.
func (r rule) matters(c peers.Result, span float64) bool {
	over := c.Own - c.Median
	if r.direction == peers.Lower {
		over = -over
	}
	if r.times > 0 {
		return over*span >= r.times*(1-1e-9)
	}
	return over >= max(r.amount, r.factor*math.Abs(c.Median))
}
