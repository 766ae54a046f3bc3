package zscore

import (
	"math"

	"github.com/sfstat/sfstat/engine/blocks"
	"github.com/sfstat/sfstat/internal/student"
)

// examine judges one series.
func examine(index int, s *Series, f *family, memory *scratch) (Report, []Outlier) {
	rep := Report{Peers: len(s.Workers), Steps: s.steps(), Method: f.o.Method}
	if rep.Peers < 3 {
		rep.Doubts = append(rep.Doubts, TooFewPeers)
		return rep, nil
	}
	scale := f.o.Scale
	if scale == AutoScale && f.o.Method == Population {
		scale = Linear
	}
	e := &examiner{index: index, s: s, family: f, fit: chooseFit(s, scale, memory), report: &rep}
	rep.Log = e.fit.scale == Log
	if rep.Method == Pooled && (rep.Steps < minSteps || e.fit.freedom < 1) {
		rep.Method = LeaveOneOut
		rep.Doubts = append(rep.Doubts, FewSteps)
	}
	if f.o.Correlated && rep.Method == Pooled {
		if e.cut = blocks.Of(rep.Steps, e.fit.tau(rep.Peers)); e.cut.Refused != blocks.Judged {
			rep.Method = LeaveOneOut
			rep.Doubts = append(rep.Doubts, FewBlocks)
		}
	}
	if rep.Method == Pooled {
		e.examinePooled()
	} else {
		e.examineSingle(memory)
	}
	return rep, e.found
}

type examiner struct {
	index  int
	s      *Series
	family *family
	fit    *fit
	report *Report
	found  []Outlier
	cut    blocks.Blocks // of Options.Correlated
}

// judge is the error rate and the degrees of freedom that a score is held
// against.
type judge struct {
	threshold, sure, freedom float64
}

// judge makes thresholds of Student's t by Bonferroni.
func (e *examiner) judge(freedom float64) judge {
	return judge{
		threshold: student.Upper(e.family.instanceAlpha(e.s)/float64(2*e.report.Peers), freedom),
		sure:      student.Upper(e.family.o.Alpha/float64(2*e.family.tests), freedom),
		freedom:   freedom,
	}
}

// hold keeps a score that passes.
func (e *examiner) hold(j judge, o Outlier) {
	if size := math.Abs(o.Score); size > j.threshold {
		o.Series, o.Threshold = e.index, j.threshold
		o.Sure = j.sure > 0 && size > j.sure
		if j.freedom > 0 {
			p := student.TwoSided(o.Score, j.freedom)
			o.P = &p
		}
		e.found = append(e.found, o)
	}
}

func (e *examiner) doubt(d Doubt) { e.report.Doubts = append(e.report.Doubts, d) }

// ratio returns r/s; without any spread every deviation is infinite, and what is absent stays NaN.
func ratio(r, s float64) float64 {
	switch {
	case r == 0 || math.IsNaN(r):
		return r
	case s == 0:
		return math.Copysign(math.Inf(1), r)
	}
	return r / s
}

// examinePooled judges every step, and the level of every peer.
func (e *examiner) examinePooled() {
	f, n := e.fit, e.report.Peers
	if e.family.o.Correlated {
		f.loosen(e.cut)
	}
	j := e.judge(f.freedom)
	e.report.Sigma, e.report.Freedom, e.report.Threshold, e.report.Sure = f.sigma, f.freedom, j.threshold, j.sure
	if f.equal {
		e.doubt(MostlyEqual)
	}
	if f.correlation > dependent {
		e.doubt(Dependent)
	}
	if f.heavyTailed() {
		e.doubt(HeavyTails)
	}
	width, levels := f.width(), j
	if e.family.o.Correlated {
		sd, freedom := f.blockSpread(n, e.cut)
		width, levels = sd*math.Sqrt(float64(e.report.Steps)), e.judge(freedom) // of a step, as below
	}
	effects := make([]float64, 0, e.report.Steps)
	var memory scratch
	for i, worker := range e.s.Workers {
		if f.count[i] < minSteps {
			continue
		}
		score := ratio(f.level[i]*math.Sqrt(float64(f.count[i])), width)
		if math.Abs(score) <= levels.threshold {
			continue
		}
		effects = effects[:0]
		for t := range e.report.Steps {
			if k := t*n + i; f.r[k] == f.r[k] {
				effects = append(effects, float64(f.effect(k, e.s.X[k])))
			}
		}
		e.hold(levels, Outlier{Step: EveryStep, Worker: worker, Score: score, Effect: int64(math.Round(median(effects, &memory)))})
	}
	for t := range e.report.Steps {
		sigma := f.sigmaWithout(t)
		for i, worker := range e.s.Workers {
			k := t*n + i
			if score := ratio(f.r[k], sigma); math.Abs(score) > j.threshold {
				e.hold(j, Outlier{Step: t, Worker: worker, Score: score, Effect: f.effect(k, e.s.X[k])})
			}
		}
	}
}

// examineSingle judges every step by itself.
func (e *examiner) examineSingle(memory *scratch) {
	n, method := e.report.Peers, e.report.Method
	judges := make(map[int]judge)
	full := e.judgeOf(n, judges)
	e.report.Threshold, e.report.Sure = full.threshold, full.sure
	switch method {
	case LeaveOneOut:
		e.doubt(Masks)
	default:
		e.doubt(Uncalibrated)
		if ceiling(n) <= e.family.o.Cutoff {
			e.doubt(CannotFire)
		}
	}
	row := make([]float64, n)
	present := make([]float64, 0, n)
	columns := make([]int, 0, n)
	for t := range e.report.Steps {
		transform(row, e.s.step(t), e.fit.scale)
		present, columns = present[:0], columns[:0]
		for i, v := range row {
			if v == v {
				present = append(present, v)
				columns = append(columns, i)
			}
		}
		if len(present) < 3 {
			continue
		}
		j := e.judgeOf(len(present), judges)
		for at, score := range scoreStep(method, present, memory) {
			if math.Abs(score) > j.threshold {
				k := t*n + columns[at]
				e.hold(j, Outlier{Step: t, Worker: e.s.Workers[columns[at]], Score: score, Effect: e.fit.effect(k, e.s.X[k])})
			}
		}
	}
}

// judgeOf returns what scores of one step with n values are held against.
func (e *examiner) judgeOf(n int, known map[int]judge) judge {
	j, ok := known[n]
	if ok {
		return j
	}
	switch e.report.Method {
	case LeaveOneOut:
		j = e.judge(float64(n - 2))
	default:
		j = judge{threshold: e.family.o.Cutoff}
	}
	known[n] = j
	return j
}
