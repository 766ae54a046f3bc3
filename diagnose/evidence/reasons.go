package evidence

// Reason is why a finding is not more certain. It is a name, in the JSON too;
// package report has a sentence for each.
type Reason string

// The reasons, of all sources.
const (
	// How often it was seen, and next to how many peers.
	FewOccurrences    Reason = "few_occurrences"     // N steps or synchronisation points are too few to exclude chance
	ChanceNotExcluded Reason = "chance_not_excluded" // no test excludes chance; P: the level that was not reached
	FewPeers          Reason = "few_peers"           // with N peers, which one is slower is known, and not which one is unusual

	// What else would explain it.
	SeveralCauses   Reason = "several_causes_fit"
	MayBeByDesign   Reason = "may_be_by_design"
	WorkUnknown     Reason = "work_unknown" // sizes of inputs or transfers are not recorded
	WorkVaries      Reason = "work_varies"  // in other steps it is shorter than on the peers
	DelayInherited  Reason = "delay_inherited"
	OthersMayWait   Reason = "others_may_wait"   // the rank waits for what comes at its own pace, and others may wait for the same next
	WaitNotRecorded Reason = "wait_not_recorded" // it may have waited for another where waits are not recorded
	ClockOffset     Reason = "clock_not_excluded"

	// Where sources of evidence part.
	Unconfirmed     Reason = "unconfirmed"      // one kind of evidence alone shows it
	SourcesDisagree Reason = "sources_disagree" // another recording or engine finds Rank instead, or nobody

	// What the recording lacks.
	SyncNotShown     Reason = "synchronisation_not_shown"
	NobodyWaits      Reason = "nobody_waits" // the rank's steps are longer than the others', who do not wait in theirs
	SyncLikely       Reason = "synchronisation_likely"
	NoWallTime       Reason = "no_wall_time"
	Incomplete       Reason = "telemetry_limited"
	RolesMixed       Reason = "roles_mixed"
	WithinOneRole    Reason = "within_one_role"
	MicrostepsSummed Reason = "accumulation_summed"
	LimitUnknown     Reason = "limit_unknown"
	TimesRounded     Reason = "times_rounded"   // the delay is not twice the unit of the recorded times
	DumpIncomplete   Reason = "dump_incomplete" // a dump is missing, or does not say when it was written
)

// Names returns all reasons.
func (Reason) Names() []string {
	var names []string
	for _, r := range reasons {
		names = append(names, string(r))
	}
	return names
}

var reasons = []Reason{FewOccurrences, ChanceNotExcluded, FewPeers, SeveralCauses, MayBeByDesign, WorkUnknown, WorkVaries, DelayInherited,
	OthersMayWait, WaitNotRecorded, ClockOffset, Unconfirmed, SourcesDisagree, SyncNotShown, NobodyWaits, SyncLikely, NoWallTime, Incomplete,
	RolesMixed, WithinOneRole, MicrostepsSummed, LimitUnknown, TimesRounded, DumpIncomplete}
