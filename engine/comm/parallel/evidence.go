package parallel

// EvidenceKind is what was observed of a communicator.
type EvidenceKind string

const (
	OneRankReduces      EvidenceKind = "one_rank_reduces"     // what is as large as gradients: a data dimension of one
	SingleRank          EvidenceKind = "single_rank"          // nothing is communicated
	NeverCalled         EvidenceKind = "never_called"         // no operation
	SmallMessages       EvidenceKind = "small_messages"       // of at most N bytes: control, not data
	UnevenSends         EvidenceKind = "uneven_sends"         // all-to-all of uneven sizes, as tokens go to experts
	EvenSends           EvidenceKind = "even_sends"           // all that is sent at once is of equal size
	OneWaySends         EvidenceKind = "one_way_sends"        // as in a ring of a split sequence
	PairedSends         EvidenceKind = "paired_sends"         // whenever it sends it receives, as in such a ring
	SendsAndReceives    EvidenceKind = "sends_and_receives"   // as stages of a pipeline do
	AveragingReductions EvidenceKind = "averaging_reductions" // N, as of gradients
	GroupedCalls        EvidenceKind = "grouped_calls"        // N of Of, as buckets of gradients and parameters
	RanksApart          EvidenceKind = "ranks_apart"          // Stride
	NeighboursOnHost    EvidenceKind = "neighbours_on_host"   // consecutive ranks of one host
	OneRankPerHost      EvidenceKind = "one_rank_per_host"    // on N hosts
	SuccessiveGathers   EvidenceKind = "successive_gathers"   // Share of the all-gathers, as of parameters
	RareSizes           EvidenceKind = "rare_sizes"           // none comes more than N times a step
	GatheredSize        EvidenceKind = "gathered_size"        // one size comes Times, gathered and reduced in turn, as activations are
	ReducedSize         EvidenceKind = "reduced_size"         // one size comes Times, as activations do
	RepeatedSize        EvidenceKind = "repeated_size"        // one size comes Times, as activations and buckets of gradients do
	TensorOrData        EvidenceKind = "tensor_or_data"       // the observations before this one do not decide
	RanksWithoutLog     EvidenceKind = "ranks_without_log"    // of which a layout decides nothing
	LayoutOneRank       EvidenceKind = "layout_one_rank"      // the layout given has a data dimension of one rank
	OutsideLayout       EvidenceKind = "outside_layout"       // no dimension of the layout given has these ranks
	DefaultGroup        EvidenceKind = "default_group"        // all ranks, and small messages alone
	SilentStages        EvidenceKind = "silent_stages"        // stages of one pipeline that send nothing
	LayoutGiven         EvidenceKind = "layout_given"         // dimension As of the layout given, N ranks, Stride
	SharedEmbedding     EvidenceKind = "shared_embedding"     // it joins stages of one pipeline
	OneRankBeside       EvidenceKind = "one_rank_beside"      // one rank, whose data-parallel or expert-parallel group is another
	LikeOthers          EvidenceKind = "like_others"          // groups of N ranks, Stride, are of kind As elsewhere in the job
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

// because returns evidence of a kind without numbers.
func because(kind EvidenceKind) []Evidence { return []Evidence{{Kind: kind}} }
