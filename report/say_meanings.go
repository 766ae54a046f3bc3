package report

import (
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/engine/zscore"
)

// What labels, reasons, levels of confidence and doubts mean to somebody who has not read the paper.

// labelMeaning explains a label; a value that has no words is named.
func labelMeaning(l labels.Label) string {
	switch l {
	case labels.FrontierAccounting:
		return "An exact account of the step; it names no cause."
	case labels.DirectExposure:
		return "The leading stage is slow itself; fixing it pays."
	case labels.SyncWaitDependent:
		return "Others wait later because of the leading stage."
	case labels.LikelySyncWait:
		return "One rank falls behind in it; its peers wait for it."
	case labels.ForwardDeviceSupported:
		return "Device timers confirm a long forward pass."
	case labels.ForwardSpilloverSuspected:
		return "Forward is long; a later stage pays for it."
	case labels.ForwardHostOverheadSuspected:
		return "Forward is long on the host, not the device."
	case labels.ForwardEventScopeLimited:
		return "Too few device timers, or streams not covered."
	case labels.CoCritical:
		return "The account alone singles out no stage."
	case labels.GradientAccumulationAmbiguous:
		return "Microsteps were summed; their order is lost."
	case labels.RoleAwareNeeded:
		return "Ranks do different work: compare only within groups."
	case labels.TelemetryLimited:
		return "Incomplete, or not adding up: no strong claim."
	}
	return l.String()
}

// reasonMeaning explains why an account says no more; a value that has no words is named.
func reasonMeaning(r labels.Reason) string {
	switch r {
	case labels.AccumulationCollapsed:
		return "Microsteps are summed into one stage."
	case labels.BelowDominance:
		return "The leading stage is too small a part of the step."
	case labels.ClosureResidual:
		return "Too much of some rank's step is in no recorded stage."
	case labels.DataWaitUnassigned:
		return "It is unknown which step the data waits belong to."
	case labels.DenominatorBelowFloor:
		return "Too short for percentages to mean anything."
	case labels.DirectEvidenceDisagrees:
		return "Raw durations or spread point to another stage."
	case labels.EventScope:
		return "Device timers are too few, not ready, or miss streams."
	case labels.GainLeaderDiffers:
		return "Fixing another stage would save more."
	case labels.GainTie:
		return "Fixing any of several stages saves about the same."
	case labels.GatherFailed:
		return "The recorder could not gather the window everywhere."
	case labels.LeaderSwitches:
		return "Who ends the leading stage last keeps changing."
	case labels.LowGainNoModelFit:
		return "The waits for its leading stage are not in the account."
	case labels.MissingRanks:
		return "Some ranks did not report."
	case labels.NoBaseline:
		return "There is nothing to compare the leading stage with."
	case labels.OverlapError:
		return "Some rank's stages add up to more than its step took."
	case labels.RoleMix:
		return "Ranks that do different work were put together."
	case labels.SchemaMismatch:
		return "Not all ranks recorded the same stages."
	case labels.ShareTie:
		return "Several stages have nearly the same share."
	case labels.SingleRank:
		return "With one rank there is nobody to compare with."
	case labels.VectorUnusable:
		return "Stage times could not be lined up across ranks."
	}
	return r.String()
}

// confidenceMeaning explains a level of confidence; a value that has no words is named.
func confidenceMeaning(c evidence.Confidence) string {
	switch c {
	case evidence.Insufficient:
		return "Too small, or too little data, to call."
	case evidence.Ambiguous:
		return "Several readings fit."
	case evidence.Supported:
		return "One kind of evidence only, or a condition is missing."
	case evidence.Strong:
		return "Independent evidence agrees, and nothing speaks against it."
	}
	return c.String()
}

// ksDoubt states why completion times are to be read with care; of a value without words the name.
func ksDoubt(d ks.Doubt) string {
	switch d {
	case ks.NoOperators:
		return "no operators"
	case ks.NoPeer:
		return "no peers"
	case ks.TwoWorkers:
		return "two workers: which one is slow cannot be decided"
	case ks.FewSteps:
		return "too few steps to permute"
	case ks.RunningClock:
		return "not tested on a running clock"
	case ks.NotTested:
		return "not tested"
	case ks.FewReplicates:
		return "too few permutations for the number of workers"
	case ks.FewBlocks:
		return "fewer than 20 steps, or than 8 independent blocks of them: noise may last longer than a step (--independent takes it not to)"
	case ks.UnequalCounts:
		return "peers completed different numbers of operators"
	}
	return d.String()
}

// zscoreDoubt states why outliers are to be read with care; of a value without words the name.
func zscoreDoubt(d zscore.Doubt) string {
	switch d {
	case zscore.TooFewPeers:
		return "fewer than three peers: who deviates cannot be decided"
	case zscore.FewSteps:
		return "too few steps to pool"
	case zscore.MostlyEqual:
		return "most deviations are equal: the spread is not robust"
	case zscore.Dependent:
		return "consecutive steps are correlated"
	case zscore.HeavyTails:
		return "tails heavier than normal: single steps are flagged more often than stated"
	case zscore.CannotFire:
		return "the cutoff is above the largest score there can be"
	case zscore.Uncalibrated:
		return "no error rate is known"
	case zscore.FewBlocks:
		return "fewer than 20 steps, or than 8 independent blocks of them: each step was judged by itself (--independent pools them)"
	case zscore.Masks:
		return "blind to two equal stragglers"
	}
	return d.String()
}

// overheadDoubt states why an overhead is to be read with care; of a value without words the name.
func overheadDoubt(d bootstrap.Doubt) string {
	switch d {
	case bootstrap.OneBlock:
		return "One pair of runs does not show how much runs differ. Measure ten pairs or more."
	case bootstrap.VeryFewBlocks:
		return "With fewer than 10 runs, percentile bounds fail far more often than they say. Measure more runs."
	case bootstrap.FewBlocks:
		return "With fewer than 20 runs, percentile bounds fail more often than they say; the studentised one does not where noise is symmetric."
	case bootstrap.Skewed:
		return "A few runs lie far out on one side: bounds of the mean and of the total fail more often than they say. More runs help; the median does not see such runs."
	case bootstrap.FewReplicates:
		return "The resamples are too few for this confidence."
	}
	return d.String()
}

// walkMeaning explains where a walk of blame ends; a value that has no words is named.
func walkMeaning(k blame.Kind) string {
	switch k {
	case blame.LongOp:
		return "The operator took longer than on its peers."
	case blame.Gap:
		return "What it waits for ended on time, but it started late: launch delay, network or scheduling."
	case blame.Source:
		return "Late, but waits for nothing in the step: look at the step before, or at the data loader."
	case blame.MissingPred:
		return "Late, and what it waits for is not in the trace."
	case blame.Inconsistent:
		return "It started before what it waits for had ended: the clocks disagree, so it passes no blame on."
	}
	return k.String()
}
