package parallel

// EvidenceKind is what was observed of a communicator.
type EvidenceKind uint8

const (
	OneRankReduces      EvidenceKind = iota + 1 // what is as large as gradients: a data dimension of one
	SingleRank                                  // nothing is communicated
	NeverCalled                                 // no operation
	SmallMessages                               // of at most N bytes: control, not data
	UnevenSends                                 // all-to-all of uneven sizes, as tokens go to experts
	EvenSends                                   // all that is sent at once is of equal size
	OneWaySends                                 // as in a ring of a split sequence
	PairedSends                                 // whenever it sends it receives, as in such a ring
	SendsAndReceives                            // as stages of a pipeline do
	AveragingReductions                         // N, as of gradients
	GroupedCalls                                // N of Of, as buckets of gradients and parameters
	RanksApart                                  // Stride
	NeighboursOnHost                            // consecutive ranks of one host
	OneRankPerHost                              // on N hosts
	SuccessiveGathers                           // Share of the all-gathers, as of parameters
	RareSizes                                   // none comes more than N times a step
	GatheredSize                                // one size comes Times, gathered and reduced in turn, as activations are
	ReducedSize                                 // one size comes Times, as activations do
	RepeatedSize                                // one size comes Times, as activations and buckets of gradients do
	TensorOrData                                // the observations before this one do not decide
	RanksWithoutLog                             // of which a layout decides nothing
	LayoutOneRank                               // the layout given has a data dimension of one rank
	OutsideLayout                               // no dimension of the layout given has these ranks
	DefaultGroup                                // all ranks, and small messages alone
	SilentStages                                // stages of one pipeline that send nothing
	LayoutGiven                                 // dimension As of the layout given, N ranks, Stride
	SharedEmbedding                             // it joins stages of one pipeline
	OneRankBeside                               // one rank, whose data-parallel or expert-parallel group is another
	LikeOthers                                  // groups of N ranks, Stride, are of kind As elsewhere in the job
	EvidenceKinds                               // one more than the last
)

// Evidence is one observation of what a communicator is for. The kind says which fields are set.
type Evidence struct {
	Kind   EvidenceKind
	As     Kind
	N, Of  int64
	Stride int     // distance of neighbouring ranks
	Share  float64 // 0 to 1
	Times  float64 // in a step, or in the recording where Whole
	Whole  bool    // no steps are known
}

// because is evidence of a kind without numbers.
func because(kind EvidenceKind) []Evidence { return []Evidence{{Kind: kind}} }
