package diagnose_test

import (
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
)

func lateRank(rank int, c evidence.Confidence) diagnose.Finding {
	return diagnose.Finding{Kind: diagnose.KindRank, Cause: diagnose.CauseLate, Place: diagnose.Place{Rank: &rank, Stage: "data"}, Confidence: c,
		Cost: diagnose.Cost{Gain: 0.2, RunGain: 0.1, Step: 100, Excess: 20}, Evidence: []evidence.Observation{evidence.LastToArrive{Rank: rank}}}
}

// TestAnswer: what an answer rests on, and whom it names. A healthy run and an open question name nobody, whatever
// findings are listed.
func TestAnswer(t *testing.T) {
	small := lateRank(3, evidence.Strong)
	small.BelowMinGain = true
	replayed := lateRank(2, evidence.Strong)
	replayed.Cause, replayed.Evidence = diagnose.CauseCompute, []evidence.Observation{evidence.StepReplay{Share: 0.2}}
	unimportant := replayed
	unimportant.BelowMinGain = true
	slow := diagnose.Finding{Kind: diagnose.KindEdge, Cause: diagnose.CauseLink, Confidence: evidence.Strong, Evidence: []evidence.Observation{evidence.SlowLink{}}}
	for name, c := range map[string]struct {
		v     diagnose.RunVerdict
		basis diagnose.Basis
		names bool
		sure  evidence.Confidence
	}{
		"late":            {diagnose.RunVerdict{Status: answer.Straggler, Findings: []diagnose.Finding{lateRank(3, evidence.Strong)}}, diagnose.OnFinding, true, evidence.Strong},
		"small":           {diagnose.RunVerdict{Status: answer.NoStraggler, Findings: []diagnose.Finding{small}}, diagnose.OnNoStraggler, false, 0},
		"may be late":     {diagnose.RunVerdict{Status: answer.UndecidedRun, Findings: []diagnose.Finding{lateRank(3, evidence.Ambiguous)}}, diagnose.OnFinding, true, 0},
		"hardly late":     {diagnose.RunVerdict{Status: answer.UndecidedRun, Findings: []diagnose.Finding{lateRank(3, evidence.Insufficient)}}, diagnose.OnOpenQuestion, false, 0},
		"link":            {diagnose.RunVerdict{Status: answer.Straggler, Findings: []diagnose.Finding{slow}}, diagnose.OnCommunication, true, evidence.Strong},
		"calls":           {diagnose.RunVerdict{Status: answer.NoStraggler, Communications: &diagnose.Communications{}}, diagnose.OnCalls, false, 0},
		"operators":       {diagnose.RunVerdict{Status: answer.Straggler, Operators: &diagnose.Operators{}, Findings: []diagnose.Finding{replayed}}, diagnose.OnOperators, true, evidence.Strong},
		"small operators": {diagnose.RunVerdict{Status: answer.NoStraggler, Operators: &diagnose.Operators{}, Findings: []diagnose.Finding{unimportant}}, diagnose.OnOperators, false, 0},
		"nothing":         {diagnose.RunVerdict{Status: answer.TooLittleData}, diagnose.OnTooLittle, false, 0},
	} {
		a := c.v.Answer()
		if a.Basis != c.basis || (a.First != nil) != c.names || a.Certainty != c.sure {
			t.Errorf("%s: on %q, named %v, certainty %v", name, a.Basis, a.First != nil, a.Certainty)
		}
	}
}

// TestAlso: what an answer names besides, and what fixing all that are late saves, which is known of two or more.
func TestAlso(t *testing.T) {
	operator := lateRank(5, evidence.Strong)
	operator.Cause = diagnose.CauseOperator
	v := diagnose.RunVerdict{Status: answer.Straggler, Together: 0.3,
		Findings: []diagnose.Finding{lateRank(3, evidence.Strong), operator, lateRank(4, evidence.Strong), lateRank(6, evidence.Ambiguous)}}
	if a := v.Answer(); len(a.Also) != 1 || *a.Also[0].Rank != 4 || a.Late != 2 || a.Together != 0.3 {
		t.Errorf("%d findings besides, %d late, %v together", len(a.Also), a.Late, a.Together)
	}
	v.Findings = v.Findings[:2]
	if a := v.Answer(); len(a.Also) != 0 || a.Together != 0 {
		t.Errorf("of one late rank: %d besides, %v together", len(a.Also), a.Together)
	}
}

// TestSaving: which gain counts.
func TestSaving(t *testing.T) {
	late := func(change func(*diagnose.Finding)) diagnose.Finding {
		f := lateRank(3, evidence.Strong)
		change(&f)
		return f
	}
	for name, c := range map[string]struct {
		f    diagnose.Finding
		kind diagnose.SavingKind
		run  float64
	}{
		"some steps":  {late(func(f *diagnose.Finding) {}), diagnose.SavesSteps, 0.1},
		"every step":  {late(func(f *diagnose.Finding) { f.Struck.Pattern = diagnose.PatternConstant }), diagnose.SavesEveryStep, 0.1},
		"others late": {late(func(f *diagnose.Finding) { f.Gain = 0.09 }), diagnose.SavesLittleAlone, 0.1},
		"together": {late(func(f *diagnose.Finding) {
			f.Gain, f.Evidence = 0.09, append(f.Evidence, evidence.LateTogether{Gain: 0.4, RunGain: 0.3})
		}), diagnose.SavesSteps, 0.3},
		"turns":            {late(func(f *diagnose.Finding) { f.Cause = diagnose.CauseTurns }), diagnose.SavesByEvening, 0.1},
		"several stages":   {late(func(f *diagnose.Finding) { f.Stage, f.RunAtMost = "", 0.13 }), diagnose.SavesUpTo, 0.1},
		"nothing is known": {late(func(f *diagnose.Finding) { f.Gain, f.RunGain = 0, 0 }), diagnose.SavesNothing, 0},
	} {
		if got := c.f.Saving(); got.Kind != c.kind || got.Run != c.run {
			t.Errorf("%s: %+v, expected kind %q and %v of the run", name, got, c.kind, c.run)
		}
	}
}
