package evidence

// The evidence that calls and kernels of communication give. Times are
// nanoseconds, bandwidths bytes per nanosecond (GB/s) on the bus, ranks global.

// LastToEnter: the others waited for a rank in collectives.
type LastToEnter struct {
	Rank  int     `json:"rank"`
	N     int     `json:"n"`        // collectives that it was the last to enter
	Of    int     `json:"of"`       // those that it took part in
	Delay int64   `json:"delay_ns"` // its own, median over those that it was the last to enter
	Share float64 `json:"share"`    // of the recording, in all
	P     float64 `json:"p"`        // that one of equal ranks has most of the delay as often
	Among int     `json:"among"`    // ranks
}

// OwnDelay is how much of the waiting began with the rank itself: more time
// passes since its last kernel of communication than on the others.
type OwnDelay struct {
	Delay    int64 `json:"delay_ns"`    // beyond the median rank's, in all
	Waited   int64 `json:"waited_ns"`   // for others
	Transfer int64 `json:"transfer_ns"` // of its collectives, with all ranks there
}

// SlowLink is the work in which a link or communicator is slowest beside its
// peers, from the start of the last rank on: no arrival skew is in it.
type SlowLink struct {
	Between   Subject `json:"between"`
	Op        string  `json:"op"`
	Bytes     int64   `json:"bytes"` // size class
	Bandwidth float64 `json:"bandwidth"`
	Peers     int     `json:"peers"`
	PeersHave float64 `json:"peers_bandwidth"`           // their median
	Link      string  `json:"link,omitempty"`            // what it runs over
	Limit     float64 `json:"limit,omitempty"`           // of the link; 0: not known
	Reaches   float64 `json:"reaches,omitempty"`         // of the limit
	From      int64   `json:"slow_from_bytes,omitempty"` // smaller messages are as fast as the peers'; 0: all are slow
	Lost      int64   `json:"lost_ns"`
	Share     float64 `json:"share"` // of the recording
}

// Subject is a link or a communicator.
type Subject struct {
	Scope  Scope    `json:"scope"`
	Ranks  []int    `json:"ranks"`
	Hosts  []string `json:"hosts,omitempty"`
	Called string   `json:"kind,omitempty"` // of a communicator: what it is for
}

// Scope is what a slow link comes down to.
type Scope string

const (
	OfCommunicator Scope = "communicator"
	OfPair         Scope = "pair"
	OfRank         Scope = "rank" // to all others
	OfHost         Scope = "host"
	OfHosts        Scope = "hosts" // between two
)

// Bandwidth is one comparison of equal work over links of one kind.
type Bandwidth struct {
	Op        string    `json:"op"`
	Ranks     []int     `json:"ranks,omitempty"`   // of the communicator, where several are compared
	Message   Direction `json:"message,omitempty"` // of messages between two ranks, which Ranks are
	Bytes     int64     `json:"bytes"`
	Bandwidth float64   `json:"bandwidth"`
	Calls     int       `json:"calls"`
	Peers     int       `json:"peers"`
	PeersHave float64   `json:"peers_bandwidth"`
	P         float64   `json:"p"` // were all links alike
}

// Direction is which way a message goes.
type Direction string

const (
	OneWay   Direction = "one_way" // from the first of the ranks to the second
	BothWays Direction = "both_ways"
)

// MoreComparisons are as many as are not listed.
type MoreComparisons struct {
	N int `json:"n"`
}

// SmallerAsFast: messages of less than Bytes are as fast as the peers'.
type SmallerAsFast struct {
	Bytes int64 `json:"bytes"`
}

// EveryWaySlow: all links of the kind that could be compared are slow, and no
// other.
type EveryWaySlow struct {
	N int `json:"n"`
}

// LinkUnknown: a collective is as fast as the slowest of its links, so
// collectives alone cannot tell which it is.
type LinkUnknown struct{}

// SlowLinkElsewhere is evidence against: what windows show comes of a slow link.
type SlowLinkElsewhere struct {
	SlowLink
}

// CommunicationAgrees: calls and kernels find the same rank late.
type CommunicationAgrees struct {
	LastToEnter
	Raised bool `json:"raised"` // from too small for the windows alone
}

// CommunicationNormal: calls and kernels find no rank late and no link slow.
type CommunicationNormal struct{}

func (LastToEnter) Kind() Kind         { return "last_to_enter" }
func (OwnDelay) Kind() Kind            { return "own_delay" }
func (SlowLink) Kind() Kind            { return "slow_link" }
func (Bandwidth) Kind() Kind           { return "bandwidth" }
func (MoreComparisons) Kind() Kind     { return "more_comparisons" }
func (SmallerAsFast) Kind() Kind       { return "smaller_as_fast" }
func (EveryWaySlow) Kind() Kind        { return "every_way_slow" }
func (LinkUnknown) Kind() Kind         { return "link_unknown" }
func (SlowLinkElsewhere) Kind() Kind   { return "slow_link_elsewhere" }
func (CommunicationAgrees) Kind() Kind { return "communication_agrees" }
func (CommunicationNormal) Kind() Kind { return "communication_normal" }

// Why a finding of communication is not more certain.
const (
	WhichOfTwoLinks Reason = "which_of_two_links"
	TwoLinksByLimit Reason = "two_links_by_limit"
	ChanceAbove     Reason = "chance_above" // P: the level
	LimitUnknown    Reason = "limit_unknown"
	TwoPeers        Reason = "two_peers"
)
