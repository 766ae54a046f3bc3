package report

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/internal/glyph"
)

// What labels, reasons and levels of confidence mean to somebody who has not
// read the paper. One sentence each.

var labelWords = [...]string{
	labels.FrontierAccounting:            "An exact account of the step; it names no cause.",
	labels.DirectExposure:                "The leading stage is slow itself; fixing it pays.",
	labels.SyncWaitDependent:             "Others wait later because of the leading stage.",
	labels.LikelySyncWait:                "One rank falls behind in it; its peers wait for it.",
	labels.ForwardDeviceSupported:        "Device timers confirm a long forward pass.",
	labels.ForwardSpilloverSuspected:     "Forward is long; a later stage pays for it.",
	labels.ForwardHostOverheadSuspected:  "Forward is long on the host, not the device.",
	labels.ForwardEventScopeLimited:      "Too few device timers, or streams not covered.",
	labels.CoCritical:                    "Shares single out no stage; common in healthy jobs.",
	labels.GradientAccumulationAmbiguous: "Microsteps were summed; their order is lost.",
	labels.RoleAwareNeeded:               "Ranks do different work: compare only within groups.",
	labels.TelemetryLimited:              "Incomplete, or not adding up: no strong claim.",
}

var reasonWords = [...]string{
	labels.AccumulationCollapsed:   "Microsteps are summed into one stage.",
	labels.BelowDominance:          "The leading stage is too small a part of the step.",
	labels.ClosureResidual:         "Too much of some rank's step is in no recorded stage.",
	labels.DataWaitUnassigned:      "It is unknown which step the data waits belong to.",
	labels.DenominatorBelowFloor:   "Too short for percentages to mean anything.",
	labels.DirectEvidenceDisagrees: "Raw durations or spread point to another stage.",
	labels.EventScope:              "Device timers are too few, not ready, or miss streams.",
	labels.GainLeaderDiffers:       "Fixing another stage would save more.",
	labels.GainTie:                 "Fixing any of several stages saves about the same.",
	labels.GatherFailed:            "The recorder could not gather the window everywhere.",
	labels.LeaderSwitches:          "The latest rank keeps changing from step to step.",
	labels.LowGainNoModelFit:       "Fixing the lead stage saves little; no wait is shown.",
	labels.MissingRanks:            "Some ranks did not report.",
	labels.NoBaseline:              "There is nothing to compare the leading stage with.",
	labels.OverlapError:            "Some rank's stages add up to more than its step took.",
	labels.RoleMix:                 "Ranks that do different work were put together.",
	labels.SchemaMismatch:          "Not all ranks recorded the same stages.",
	labels.ShareTie:                "Several stages have nearly the same share.",
	labels.SingleRank:              "With one rank there is nobody to compare with.",
	labels.VectorUnusable:          "Stage times could not be lined up across ranks.",
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

// filled puts values into a sentence where it has their names in braces: a name, its
// value, another name …
func filled(sentence string, values ...any) string {
	pairs := make([]string, len(values))
	for i := 0; i < len(values); i += 2 {
		pairs[i], pairs[i+1] = fmt.Sprintf("{%v}", values[i]), fmt.Sprint(values[i+1])
	}
	return strings.NewReplacer(pairs...).Replace(sentence)
}

func labelTerms(labels []labels.Label) terms {
	var out terms
	for _, l := range labels {
		out = append(out, glyph.Term{Name: l.String(), Text: meaning(labelWords[:], l)})
	}
	return out
}

func reasonTerms(reasons []labels.Reason) terms {
	var out terms
	for _, r := range reasons {
		out = append(out, glyph.Term{Name: r.String(), Text: meaning(reasonWords[:], r)})
	}
	return out
}
