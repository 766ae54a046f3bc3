package report

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/sfstat/sfstat/diagnose/evidence"
)

// evidenceKinds are one value of every kind of evidence.
var evidenceKinds = []evidence.Observation{
	evidence.Lack{}, evidence.LastToArrive{}, evidence.Replay{}, evidence.LateTogether{}, evidence.SharedPlace{}, evidence.SyncPoint{},
	evidence.DeviceTime{}, evidence.GroupWork{}, evidence.LatestInStage{}, evidence.Clipped{}, evidence.Growth{},
	evidence.SlowerThanBaseline{}, evidence.SlowSteps{}, evidence.HostOverhead{}, evidence.LateByTurns{}, evidence.Moving{},
	evidence.RecurringHost{}, evidence.NobodyLate{}, evidence.DeviceShares{}, evidence.ProfileAgrees{},
	evidence.RankOperators{}, evidence.OperatorDifference{}, evidence.CollectiveWait{}, evidence.GroupOperators{}, evidence.SpentIn{},
	evidence.StepReplay{}, evidence.BelowGate{}, evidence.OperatorTimes{}, evidence.SlowPasses{}, evidence.PooledOutliers{},
	evidence.CompletionTimes{}, evidence.BlameWalks{}, evidence.FrontierCharge{}, evidence.TransferOutliers{}, evidence.SlowTransfers{},
	evidence.StageFactor{}, evidence.LaunchDelay{}, evidence.LateStarts{}, evidence.HeavyPasses{}, evidence.EvenDivision{},
	evidence.RotatingOutliers{}, evidence.MicrobatchCorrelation{}, evidence.BesideWorkers{}, evidence.OperatorsAgree{},
	evidence.OperatorsNormal{}, evidence.LastToEnter{}, evidence.OwnDelay{}, evidence.SlowLink{}, evidence.Bandwidth{},
	evidence.MoreComparisons{}, evidence.SmallerAsFast{}, evidence.EveryWaySlow{}, evidence.LinkUnknown{}, evidence.SlowLinkElsewhere{},
	evidence.CommunicationAgrees{}, evidence.CommunicationNormal{}, evidence.EnteredLast{}, evidence.ArrivalsAgree{}, evidence.NeverEntered{},
	evidence.EnteredDifferently{}, evidence.LateBehindMessages{}, evidence.Monitored{}, evidence.MonitoredAlike{}, evidence.Reported{},
	evidence.ProbeTime{},
}

// evidenceReasons are all reasons of all judges.
var evidenceReasons = []evidence.Reason{
	evidence.ReasonEverywhere, evidence.ReasonNotLatest, evidence.ReasonChance, evidence.ReasonSyncUnknown, evidence.ReasonSyncLikely,
	evidence.ReasonNoWall, evidence.ReasonUndeclaredRoles, evidence.ReasonTelemetry, evidence.ReasonMixedRoles, evidence.ReasonWithinRole,
	evidence.ReasonAccumulation, evidence.ReasonSamplesOnly, evidence.ReasonByDesign, evidence.ReasonRankHidden, evidence.ReasonManyCauses,
	evidence.ReasonOtherSteps, evidence.ReasonNoWaitShown, evidence.ReasonProfileDisagrees, evidence.InputsUnknown, evidence.FewReplicas,
	evidence.Untested, evidence.FewWorkers, evidence.SmallerPart, evidence.Unconfirmed, evidence.TransfersUnconfirmed, evidence.SizesUnknown,
	evidence.LaunchUnconfirmed, evidence.WaitUnknown, evidence.IdleUnknown, evidence.HeavyOrSlowRanks, evidence.DifferentPasses,
	evidence.HeavyUnproven, evidence.OneStage, evidence.WeakCorrelation, evidence.LooksLikeNoise, evidence.RotatingUnconfirmed,
	evidence.FewSteps, evidence.EnginesDisagree, evidence.OperatorsDisagree, evidence.StageTimesDisagree, evidence.WhichOfTwoLinks,
	evidence.TwoLinksByLimit, evidence.ChanceAbove, evidence.LimitUnknown, evidence.TwoPeers, evidence.ReasonFewPoints, evidence.ReasonClock,
	evidence.ReasonDumpTime, evidence.ReasonNoDump, evidence.ReasonInherited, evidence.ReasonMessages,
}

// TestEvidenceIsListed: the lists above have every kind and reason that package evidence declares.
func TestEvidenceIsListed(t *testing.T) {
	kinds, reasons := map[string]bool{}, map[string]bool{}
	for _, e := range evidenceKinds {
		kinds[string(e.Kind())] = true
	}
	for _, r := range evidenceReasons {
		reasons[string(r)] = true
	}
	files, err := filepath.Glob("../diagnose/evidence/*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := func(pattern string, source []byte, listed map[string]bool) (n int) {
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(source, -1) {
			if n++; !listed[string(m[1])] {
				t.Errorf("%s is not listed", m[1])
			}
		}
		return n
	}
	ofKinds, ofReasons := 0, 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		ofKinds += declared(`\) Kind\(\) Kind\s*\{\s*return "(\w+)"`, source, kinds)
		ofReasons += declared(`(?m)^(?:const)?\s+\w+ +Reason += "(\w+)"`, source, reasons)
	}
	if ofKinds != len(evidenceKinds) || ofReasons != len(evidenceReasons) {
		t.Errorf("%d kinds and %d reasons are declared, %d and %d listed", ofKinds, ofReasons, len(evidenceKinds), len(evidenceReasons))
	}
}
