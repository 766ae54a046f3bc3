package diagnose

// The thresholds of the operator and communication judges, beside the gates
// that a user can set (gates.Gates). None was fitted to a sample: each is
// wide of what healthy jobs of the simulator and the public traces show, and
// small beside what anybody would fix.

// trivial is the fraction of a window below which a late rank is not reported.
const trivial = 0.01

// leastTurns is the part of a step from which on work of uneven length is listed.
const leastTurns = 0.03

// fewestIncidents are more than bursts.
const fewestIncidents = 3

// accomplice is the fraction of the largest charge from which on a rank is named
// together with it.
const accomplice = 0.25

// Sizes, as parts of a step or of a recording.
const (
	// negligible: a difference, however certain, that has slack or is too small
	// to be listed.
	negligible = 5e-4
	// listedUntested: what is listed though no test can prove it, with too few
	// replicas for one: three times what a tested finding needs.
	listedUntested = 0.03
	// listedKind: what a kind of operators costs a step to be listed.
	listedKind = 5e-3
	// minReportedShare: a slow link or a late rank that costs less is listed, and not
	// reported.
	minReportedShare = 0.01
	// exposedTransfer: every job waits for its last transfer, which may be slow and
	// which nothing but another run tells. From this part of a step on that leaves the
	// run undecided; less is told beside the answer that no rank is late.
	exposedTransfer = 0.25
)

// Sample sizes.
const (
	enoughReplicas = 3 // of two, nobody can say which is unusual
	enoughSteps    = 5 // the rank test of fewer cannot reach 5 %
)

// Factors between operators or workers that do the same work.
const (
	littleLonger    = 1.1 // the other way round in some step: then it is not one of the two that is slow
	heavierSize     = 1.2 // collectives and passes of stages, whose sizes need not be the same
	slowerTransfers = 1.5 // transfers, with no test: networks vary more than devices
)

// Parts of a sum.
const (
	// nearlyAll of a worker's excess names the operator that has it: it leaves less
	// than a sixth unexplained.
	nearlyAll = 0.85
	// mainOperatorShare is the part of what a rank takes longer in a stage from which on one
	// operator explains it.
	mainOperatorShare = 0.5
	// mostlyWait is the part of a delay that the peers must wait longer in
	// collectives than the rank itself to be told of.
	mostlyWait = 0.25
	// maskedFactor: a finding explains more than this times what it saves alone
	// where others mask it.
	maskedFactor = 1.2
)

// relatedPasses is the correlation of a microbatch's passes from which on microbatches are uneven.
const relatedPasses = 0.3

// Length of lists: of what is replayed, for each costs two replays, and of what
// a reader reads.
const (
	maxAccused      = 32
	maxSmall        = 5 // findings that are too small to report
	listedOps       = 3
	mostComparisons = 6
	mostNamed       = 3
)

// walkedSteps are those in which blame walks, spread over the trace: more show
// no more.
const walkedSteps = 64

// Of many workers the completion times are permuted less often. K-S confirms
// what other engines found, and the victims on the other stages of a replica
// depart with the culprit: then 100 permutations can pass the correction,
// however many replicas there are.
const (
	manyWorkers      = 256
	fewestReplicates = 399
)
