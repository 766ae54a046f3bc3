package report

import (
	"fmt"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
)

// What labels, reasons and levels of confidence mean to somebody who has not
// read the paper. One sentence each.

var labelWords = [...]string{
	frontier.FrontierAccounting:            "An exact account of the step; it names no cause.",
	frontier.DirectExposure:                "The leading stage is slow itself; fixing it pays.",
	frontier.SyncWaitDependent:             "Others wait later because of the leading stage.",
	frontier.LikelySyncWait:                "One rank falls behind in it; its peers wait for it.",
	frontier.ForwardDeviceSupported:        "Device timers confirm a long forward pass.",
	frontier.ForwardSpilloverSuspected:     "Forward is long; a later stage pays for it.",
	frontier.ForwardHostOverheadSuspected:  "Forward is long on the host, not the device.",
	frontier.ForwardEventScopeLimited:      "Too few device timers, or streams not covered.",
	frontier.CoCritical:                    "Shares single out no stage; common in healthy jobs.",
	frontier.GradientAccumulationAmbiguous: "Microsteps were summed; their order is lost.",
	frontier.RoleAwareNeeded:               "Ranks do different work: compare only within groups.",
	frontier.TelemetryLimited:              "Incomplete, or not adding up: no strong claim.",
}

var reasonWords = [...]string{
	frontier.AccumulationCollapsed:   "Microsteps are summed into one stage.",
	frontier.BelowDominance:          "The leading stage is too small a part of the step.",
	frontier.ClosureResidual:         "Too much of some rank's step is in no recorded stage.",
	frontier.DataWaitUnassigned:      "It is unknown which step the data waits belong to.",
	frontier.DenominatorBelowFloor:   "Too short for percentages to mean anything.",
	frontier.DirectEvidenceDisagrees: "Raw durations or spread point to another stage.",
	frontier.EventScope:              "Device timers are too few, not ready, or miss streams.",
	frontier.GainLeaderDiffers:       "Fixing another stage would save more.",
	frontier.GainTie:                 "Fixing any of several stages saves about the same.",
	frontier.GatherFailed:            "The recorder could not gather the window everywhere.",
	frontier.LeaderSwitches:          "The latest rank keeps changing from step to step.",
	frontier.LowGainNoModelFit:       "Fixing the lead stage saves little; no wait is shown.",
	frontier.MissingRanks:            "Some ranks did not report.",
	frontier.NoBaseline:              "There is nothing to compare the leading stage with.",
	frontier.OverlapError:            "Some rank's stages add up to more than its step took.",
	frontier.RoleMix:                 "Ranks that do different work were put together.",
	frontier.SchemaMismatch:          "Not all ranks recorded the same stages.",
	frontier.ShareTie:                "Several stages have nearly the same share.",
	frontier.SingleRank:              "With one rank there is nobody to compare with.",
	frontier.VectorUnusable:          "Stage times could not be lined up across ranks.",
}

var confidenceWords = [...]string{
	evidence.Insufficient: "Too small, or too little data, to call.",
	evidence.Ambiguous:    "Several readings fit.",
	evidence.Supported:    "One kind of evidence only, or a condition is missing.",
	evidence.Strong:       "Independent evidence agrees, and nothing speaks against it.",
}

// meaning looks a value up; one that is not known is named instead.
func meaning[T interface {
	~uint8
	fmt.Stringer
}](words []string, v T) string {
	if int(v) < len(words) && words[v] != "" {
		return words[v]
	}
	return v.String()
}

func labelTerms(labels []frontier.Label) terms {
	var out terms
	for _, l := range labels {
		out = append(out, term{l.String(), meaning(labelWords[:], l)})
	}
	return out
}

func reasonTerms(reasons []frontier.Reason) terms {
	var out terms
	for _, r := range reasons {
		out = append(out, term{r.String(), meaning(reasonWords[:], r)})
	}
	return out
}
