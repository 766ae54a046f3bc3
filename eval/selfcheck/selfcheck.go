// Package selfcheck validates the accounting against what is proved about it
// and against inputs whose answer is known: it asks whether this build, on this
// machine, still does what it claims.
//
// The rows are the validation suite of StageFrontier (arXiv 2606.06751,
// section 6.1), each beside the paper's figure. With d[t,r,s] the duration of
// stage s on rank r in step t, F the frontier and a the advances:
//
//	Σ_s a[t,s] = F[t,S]                                the telescoping identity
//	F[t,S] ≤ Σ_s max_r d ≤ min(S,R)·F[t,S]             Proposition 1
//	F[t,S]/R ≤ Σ_s mean_r d ≤ F[t,S]                   Proposition 2
//	|ΔF[t,s]| ≤ s·ε, |Δa[t,s]| ≤ (2s−1)·ε for |Δd| ≤ ε Proposition 3
//
// Every right-hand side is computed here, from the durations; only F and a come
// from the engine. What else engines rest on is held by their tests.
//
// Durations are int64 nanoseconds, so an identity holds exactly or not at all.
// The package is pure: the seed decides everything, however many processors
// take part.
package selfcheck

import (
	"slices"

	"github.com/sfstat/sfstat/engine/frontier/labels"
)

// Options of a run.
type Options struct {
	Seed uint64
	// Trials is how many random matrices each identity is tried on, and how many fixtures
	// each statement: 1 or more.
	Trials int
}

// DefaultOptions returns options that take a few seconds.
func DefaultOptions() Options { return Options{Seed: 1, Trials: 1000} }

// Row is one check and its outcome.
type Row struct {
	Check     string `json:"check"`
	Published string `json:"published"` // the paper's figure
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

// Run carries out all checks, in a fixed order.
func Run(o Options) []Row {
	var rows []Row
	for i, c := range checks() {
		f := c.run(&sampler{Options: o, use: uint64(i)})
		rows = append(rows, Row{c.name, c.published, f.text, f.pass})
	}
	return rows
}

// AllPassed reports whether every row did.
func AllPassed(rows []Row) bool {
	return !slices.ContainsFunc(rows, func(r Row) bool { return !r.Pass })
}

func checks() []check {
	return []check{
		{"telescoping: largest |Σ advances − makespan| over all cuts", "roundoff", checkTelescoping},
		{"Proposition 1, sums of maxima: violations, bounds reached below and above", "0 violations", checkMaxima},
		{"Proposition 2, sums of means: violations, bounds reached below and above", "0 violations", checkMeans},
		{"Proposition 3, clock error: worst error ÷ bound", "at most 1", checkClockError},
		{"sync-wait fixture: delayed stage first by frontier, maximum, average", "100 %, 0 %, 0 %", syncWait},
		{"direct-exposure fixture: label", "100 %", directExposure},
		{"downgrade, wait left in place: co_critical, nothing strong", "100 %", downgrade(labels.CoCritical, gainIsLow)},
		{"downgrade, share tie: co_critical, nothing strong", "100 %", downgrade(labels.CoCritical, sharesTie)},
		{"downgrade, roles differ: role_aware_needed, nothing strong", "100 %", downgrade(labels.RoleAwareNeeded, rolesDiffer)},
		{"downgrade, a rank missing: telemetry_limited, nothing strong", "100 %", downgrade(labels.TelemetryLimited, rankIsMissing)},
		{"downgrade, microsteps summed: gradient_accumulation_ambiguous, nothing strong", "100 %",
			downgrade(labels.GradientAccumulationAmbiguous, microstepsSummed)},
	}
}
