package claim

import "github.com/sfstat/sfstat/trace/enum"

// Source is what a claim was read from.
type Source uint8

const (
	Steps     Source = iota // times of stages of steps
	Entries                 // entries of collectives
	NCCL                    // calls and kernels of NCCL
	Operators               // operator traces
)

var sourceNames = [...]string{"steps", "entries", "nccl", "operators"}

func (s Source) String() string { return enum.Name(sourceNames[:], s) }

// Kind is whom a claim is about.
type Kind uint8

const (
	Rank         Kind = iota // one rank
	Ranks                    // several ranks late for the same reason in the same steps
	Host                     // all ranks of a host
	PeerSet                  // all ranks of a set of peers
	Everyone                 // all ranks alike
	Link                     // what connects ranks, as far as Bandwidth.Scope says
	Communicator             // all members of a communicator of more than two
)

var kindNames = [...]string{"rank", "ranks", "host", "peer_set", "everyone", "link", "communicator"}

func (k Kind) String() string { return enum.Name(kindNames[:], k) }

// Cause is what kind of delay it is.
type Cause uint8

const (
	Late       Cause = iota // others wait for the ranks
	Turns                   // they wait for one rank after another
	Regression              // a level that changes
	SlowSteps               // steps that are longer than others
	StartUp                 // the first steps
	Transfer                // transfers take longer than others like them
	Launch                  // operators start late behind what was on time
	Heavy                   // peers have more to compute than others
	Latent                  // one rank differs from its peers by more than a margin, whatever that costs
)

var causeNames = [...]string{"late", "turns", "regression", "slow_steps", "start_up", "transfer", "launch", "heavy", "latent"}

func (c Cause) String() string { return enum.Name(causeNames[:], c) }

// Pattern is how struck steps lie in the run.
type Pattern uint8

const (
	Constant  Pattern = iota // (nearly) all
	Span                     // from one step to another
	Periodic                 // every n-th
	Irregular                // any others
)

var patternNames = [...]string{"constant", "span", "periodic", "irregular"}

func (p Pattern) String() string { return enum.Name(patternNames[:], p) }

// Certainty of a claim, whatever its size.
type Certainty uint8

const (
	Event     Certainty = iota // happened, and may be chance
	Supported                  // not chance at the level of its judge
	Strong                     // not chance at the strong level, and the waits of others add up to it
)

var certaintyNames = [...]string{"event", "supported", "strong"}

func (c Certainty) String() string { return enum.Name(certaintyNames[:], c) }

// Scope is how far a slow link reaches.
type Scope string

const (
	OnePair   Scope = "pair"         // two ranks
	OneRank   Scope = "rank"         // the card or socket of one rank: all its ways to others
	OneHost   Scope = "host"         // all ways of a host to others
	TwoHosts  Scope = "hosts"        // all ways between two hosts
	WholeComm Scope = "communicator" // of more than two ranks
)

// Settled says what tells that a slow subject is at fault and not its peers at their best.
type Settled uint8

const (
	Open    Settled = iota // nothing: its only peer differs, and no limit tells which is as it should be
	ByPeers                // most of several peers are faster
	ByLimit                // its only peer is faster, and it reaches less than half of what its link carries
)

var settledNames = [...]string{"open", "by_peers", "by_limit"}

func (s Settled) String() string { return enum.Name(settledNames[:], s) }
