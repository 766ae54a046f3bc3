// Package selfcheck validates the accounting against what is proved about it
// and against inputs whose answer is known: it asks whether this build, on this
// machine, still does what it claims.
//
// The first rows are the validation suite of StageFrontier (arXiv 2606.06751,
// section 6.1), each beside the paper's figure. With d[t,r,s] the duration of
// stage s on rank r in step t, F the frontier and a the advances:
//
//	Σ_s a[t,s] = F[t,S]                                the telescoping identity
//	F[t,S] ≤ Σ_s max_r d ≤ min(S,R)·F[t,S]             Proposition 1
//	F[t,S]/R ≤ Σ_s mean_r d ≤ F[t,S]                   Proposition 2
//	|ΔF[t,s]| ≤ s·ε, |Δa[t,s]| ≤ (2s−1)·ε for |Δd| ≤ ε Proposition 3
//
// Every right-hand side is computed here, from the durations; only F and a come
// from the engine. The last four rows are about what goes beyond the paper: where steps
// are cut, and how often something is flagged in a healthy job. What other engines rest
// on is held by their tests.
//
// Durations are int64 nanoseconds, so an identity holds exactly or not at all.
// The package is pure: the seed decides everything, however many processors
// take part.
package selfcheck

import (
	"slices"

	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/eval/simulate"
)

// Options of a run.
type Options struct {
	Seed uint64
	// Trials is how many random matrices each identity is tried on, and how
	// many fixtures each statement; simulated statements take Simulated, that
	// about alarms Healthy.
	Trials, Simulated, Healthy int
}

// DefaultOptions take a few seconds.
func DefaultOptions() Options { return Options{Seed: 1, Trials: 1000, Simulated: 300, Healthy: 300} }

// Row is one check and its outcome.
type Row struct {
	Check     string `json:"check"`
	Published string `json:"published,omitempty"` // the paper's figure; "" for a check of ours
	Found     string `json:"found"`
	Pass      bool   `json:"pass"`
}

// check is a row to be. Its number is the seed's companion.
type check struct {
	name, published string
	run             func(*sampler) finding
}

type finding struct {
	text string
	pass bool
}

// Run carries out all checks, in a fixed order. A check that cannot be carried
// out has failed, and says why.
func Run(o Options) []Row {
	var rows []Row
	for i, c := range checks() {
		row := Row{Check: c.name, Published: c.published}
		err := carriedOut(func() {
			f := c.run(&sampler{Options: o, use: uint64(i)})
			row.Found, row.Pass = f.text, f.pass
		})
		if err != nil {
			row.Found = err.Error()
		}
		rows = append(rows, row)
	}
	return rows
}

// Passed reports whether every row did.
func Passed(rows []Row) bool {
	return !slices.ContainsFunc(rows, func(r Row) bool { return !r.Pass })
}

func checks() []check {
	return []check{
		{"telescoping: largest |Σ advances − makespan| over all cuts", "roundoff", telescoping},
		{"Proposition 1, sums of maxima: violations, bounds reached below and above", "0 violations", maxima},
		{"Proposition 2, sums of means: violations, bounds reached below and above", "0 violations", means},
		{"Proposition 3, clock error: worst error ÷ bound", "at most 1", clockError},
		{"sync-wait fixture: delayed stage first by frontier, maximum, average", "100 %, 0 %, 0 %", syncWait},
		{"direct-exposure fixture: label", "100 %", directExposure},
		{"downgrade, wait left in place: co_critical, nothing strong", "100 %", downgrade(labels.CoCritical, gainIsLow)},
		{"downgrade, share tie: co_critical, nothing strong", "100 %", downgrade(labels.CoCritical, sharesTie)},
		{"downgrade, roles differ: role_aware_needed, nothing strong", "100 %", downgrade(labels.RoleAwareNeeded, rolesDiffer)},
		{"downgrade, a rank missing: telemetry_limited, nothing strong", "100 %", downgrade(labels.TelemetryLimited, rankIsMissing)},
		{"downgrade, microsteps summed: gradient_accumulation_ambiguous, nothing strong", "100 %",
			downgrade(labels.GradientAccumulationAmbiguous, microstepsSummed)},
		{"callback/host, delayed stage first: sync cut, step cut", "step cut 0 %", hostFault(simulate.CallbackHost, simulate.StageCallbacks)},
		{"optimizer/host, delayed stage first: sync cut, step cut", "step cut 0 %", hostFault(simulate.OptimizerHost, simulate.StageOptimizer)},
		{"synchronising stage found, and no other", "", syncPointFound},
		{"healthy windows with a strong label or a rank flagged: bound at 95 %", "0/105, at most 2.81 %", falseAlarms},
	}
}
