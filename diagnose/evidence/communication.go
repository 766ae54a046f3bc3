package evidence

// The evidence that calls and kernels of communication give. Times are
// nanoseconds, bandwidths bytes per nanosecond (GB/s) on the bus, ranks global.

// SlowLink is the work in which a link or communicator is slowest next to its
// peers, from the start of the last rank on: no arrival skew is in it.
type SlowLink struct {
	Between   Subject `json:"between" doc:"the link or communicator"`
	Op        string  `json:"op" doc:"operation in which it is slowest"`
	Bytes     int64   `json:"bytes" doc:"size class of its messages"`
	Bandwidth float64 `json:"bandwidth" doc:"bus bandwidth, GB/s"`
	Peers     int     `json:"peers" doc:"links or communicators that do the same"`
	PeersHave float64 `json:"peers_bandwidth" doc:"their median bus bandwidth, GB/s"`
	Link      string  `json:"link,omitempty" doc:"what it runs over"`
	Limit     float64 `json:"limit,omitempty" doc:"of what it runs over, GB/s; absent: not known"`
	Reaches   float64 `json:"reaches,omitempty" doc:"bandwidth as a fraction of the limit"`
	From      int64   `json:"slow_from_bytes,omitempty" doc:"smaller messages are as fast as the peers'; absent: all are slow"`
	Lost      int64   `json:"lost_ns" doc:"time lost in it"`
	Share     float64 `json:"share" doc:"time lost in it, as a fraction of the recording"`

	AllOfKind int  `json:"all_of_kind,omitempty" doc:"links of that kind that could be compared, if all of them are slow and no other"`
	AnyLinkOf bool `json:"any_link_of,omitempty" doc:"which link of the communicator is slow is not known: a collective is as fast as the slowest"`
	Elsewhere bool `json:"explains,omitempty" doc:"evidence against: this link explains what stage times show of another"`
}

// Subject is a link or a communicator.
type Subject struct {
	Scope  Scope    `json:"scope" doc:"communicator, pair, rank (to all others), host, or hosts (between two)"`
	Ranks  []int    `json:"ranks" doc:"ranks of the subject"`
	Hosts  []string `json:"hosts,omitempty" doc:"hosts of its ranks"`
	Called string   `json:"kind,omitempty" doc:"what a communicator is for"`
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
	Op        string    `json:"op" doc:"operation"`
	Ranks     []int     `json:"ranks,omitempty" doc:"ranks of the communicator, where several are compared"`
	Message   Direction `json:"message,omitempty" doc:"of messages between two ranks: one_way from the first to the second, or both_ways"`
	Bytes     int64     `json:"bytes" doc:"size class of its messages"`
	Bandwidth float64   `json:"bandwidth" doc:"bus bandwidth, GB/s"`
	Calls     int       `json:"calls" doc:"calls that were measured"`
	Peers     int       `json:"peers" doc:"links or communicators that do the same"`
	PeersHave float64   `json:"peers_bandwidth" doc:"their median bus bandwidth, GB/s"`
	P         float64   `json:"p" doc:"chance of it if all links were alike"`
	More      int       `json:"more,omitempty" doc:"comparisons that are not listed, on the last that is"`
}

// Direction is which way a message goes.
type Direction string

const (
	OneWay   Direction = "one_way" // from the first of the ranks to the second
	BothWays Direction = "both_ways"
)

func (SlowLink) Kind() Kind  { return "slow_link" }
func (Bandwidth) Kind() Kind { return "bandwidth" }
