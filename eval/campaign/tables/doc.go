// Package tables evaluates: it asks how often the accounts and the verdict
// are right on runs whose fault is known, and says so in the tables and figures
// of the published texts.
//
// A case is a run of the truth table: which rank was delayed, in which stage,
// by how much. For every window of it the package notes where the seeded stage
// stands in the ranking of the frontier by the paper's cut (StageFrontier,
// arXiv 2606.06751, section 4: prefixes from zero in every step, no model fit),
// in the rankings of the five comparison methods, and by the automatic cut;
// for every run, what the verdict names and how sure it is.
//
//	top-k   the seeded stage is among the first k of a ranking
//	hit     it is in the candidate set: the smallest prefix of the ranking
//	        whose shares reach τ
//
// Counts are x of n windows (or runs, for verdicts); shares are fractions of
// the exposed makespan; times are nanoseconds.
//
// [New] scores any windows; [Open] scores those of a finished campaign, and its
// [Evaluation] makes tables and figures.
//
// Assumptions: a run's windows arrive in order. A fault holds in every window
// of its run, except where the table notes "aba": there it holds in every
// second window only, beginning with the second. An intermittent fault is asked
// for like a constant one. Where a run hides several faults, any of them counts.
package tables
