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
	evidence.ProbeTime{}, evidence.ProcessorWait{},
}

// evidenceReasons are all reasons of all judges.
var evidenceReasons = []evidence.Reason{
	evidence.SlowEverywhere, evidence.NotClearlyLatest, evidence.FewOccurrences, evidence.SyncNotShown, evidence.SyncLikely,
	evidence.NoWallTime, evidence.MayBeByDesign, evidence.Incomplete, evidence.RolesMixed, evidence.WithinOneRole,
	evidence.MicrostepsSummed, evidence.Unconfirmed, evidence.MayBeByDesign, evidence.RankHidden, evidence.SeveralCauses,
	evidence.WorkVaries, evidence.SyncNotShown, evidence.SourcesDisagree, evidence.WorkUnknown, evidence.FewPeers,
	evidence.ChanceNotExcluded, evidence.FewPeers, evidence.SmallerPart, evidence.Unconfirmed, evidence.Unconfirmed, evidence.WorkUnknown,
	evidence.Unconfirmed, evidence.WaitNotRecorded, evidence.SeveralCauses, evidence.SeveralCauses, evidence.ChanceNotExcluded,
	evidence.ChanceNotExcluded, evidence.SeveralCauses, evidence.SeveralCauses, evidence.SeveralCauses, evidence.Unconfirmed,
	evidence.FewOccurrences, evidence.SourcesDisagree, evidence.SourcesDisagree, evidence.SourcesDisagree, evidence.FewPeers,
	evidence.FewPeers, evidence.ChanceNotExcluded, evidence.LimitUnknown, evidence.FewPeers, evidence.FewOccurrences, evidence.ClockOffset,
	evidence.DumpIncomplete, evidence.DumpIncomplete, evidence.DelayInherited, evidence.WaitNotRecorded,
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
