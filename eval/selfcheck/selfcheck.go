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
//	a[t,s] = max_r (d[t,r,s] − slack[t,r,s−1])         the slack identity
//
// Every right-hand side is computed here, from the durations; only F and a come
// from the engine. Rows further down are about what goes beyond the paper, and
// about the engines of operator traces: distances, outliers and walks (KAIR,
// ASE 2025), replays (What-if analysis, OSDI'25), the bootstrap, and what recordings of NCCL are
// put together by (NCCL Trace Profiler, Heidelberg 2026): alignment, clocks, volumes.
//
// Durations are int64 nanoseconds, so an identity holds exactly or not at all.
// The package is pure: the seed decides everything, however many processors
// take part.
package selfcheck

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
	for _, r := range rows {
		if !r.Pass {
			return false
		}
	}
	return true
}

func checks() []check {
	return []check{
		{"telescoping: largest |Σ advances − makespan| over all cuts", "roundoff", telescoping},
		{"Proposition 1, sums of maxima: violations, bounds reached below and above", "0 violations", maxima},
		{"Proposition 2, sums of means: violations, bounds reached below and above", "0 violations", means},
		{"Proposition 3, clock error: worst error ÷ bound", "at most 1", clockError},
		{"sync-wait fixture: delayed stage first by frontier, maximum, average", "100 %, 0 %, 0 %", syncWait},
		{"direct-exposure fixture: label", "100 %", directExposure},
		{"downgrade, wait left in place: co_critical, nothing strong", "100 %", downgradeLowGain},
		{"downgrade, share tie: co_critical, nothing strong", "100 %", downgradeTie},
		{"downgrade, roles differ: role_aware_needed, nothing strong", "100 %", downgradeRoles},
		{"downgrade, a rank missing: telemetry_limited, nothing strong", "100 %", downgradeTelemetry},
		{"downgrade, microsteps summed: gradient_accumulation_ambiguous, nothing strong", "100 %", downgradeAccumulation},
		{"slack identity: violations", "", slackIdentity},
		{"order of ranks: accounts that change", "", rankOrder},
		{"unit of time: accounts that do not scale", "", scaling},
		{"callback/host, delayed stage first: sync cut, step cut", "step cut 0 %", callbackHost},
		{"optimizer/host, delayed stage first: sync cut, step cut", "step cut 0 %", optimizerHost},
		{"synchronising stage found, and no other", "", syncPointFound},
		{"healthy windows with a strong label or a rank flagged: bound at 95 %", "0/105, at most 2.81 %", falseAlarms},
		{"K-S distance of two workers: trials that differ from the definition", "", distances},
		{"K-S test, healthy worker of six with P ≤ 0.05: at most 5 %", "", completionsNull},
		{"K-S score, worker that is 10 % slower: first by S_A", "", completionsCulprit},
		{"z-score, largest |z| ÷ √(N−1), or ÷ (N−1)/√N: bound reached", "at most 1", ceiling},
		{"one late worker of 4 to 10: found by pooled z, by 3 sigma, others flagged", "", lateOfFew},
		{"blame, one long operator behind a collective: found from every member", "", planted},
		{"what-if, replay as recorded: step times that differ", "", replayed},
		{"what-if, even work: slowdown other than 1", "", evenWork},
		{"what-if, a longer operator: steps that get shorter", "", monotone},
		{"bootstrap, 12 paired runs: upper bounds at 95 % that miss, at most 5 %", "", coverage},
		{"alignment, a fifth of calls and kernels lost: pairs called certain", "", certainPairs},
		{"alignment, banded: scores other than those of the whole table", "", band},
		{"clocks of two hosts, from collectives: off by 5 µs, or 2 ppm", "", clocksBack},
		{"volumes: theory of Table 5.1 in GB; layouts whose bytes do not balance", publishedVolumes, volumes},
	}
}
