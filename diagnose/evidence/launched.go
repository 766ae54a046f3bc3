package evidence

// The evidence that the operators behind the stages of windows give. Times are
// nanoseconds a step.

// RankOperators compares what a rank launched in a stage with its peers.
type RankOperators struct {
	Rank   int    `json:"rank"`
	Stage  string `json:"stage"` // "": all of them
	N      int    `json:"n"`     // operators that take longer for certain
	Of     int    `json:"of"`    // operators that it launched there
	Own    int64  `json:"own_ns"`
	Peers  int64  `json:"peers_ns"`
	Excess int64  `json:"excess_ns"` // of the N
	Tested bool   `json:"tested"`    // there are enough peers for a test
	// The N are many and all by much the same factor: the device is slow, not one
	// operator.
	DeviceWide bool    `json:"device_wide"`
	Low        float64 `json:"low,omitempty"`
	High       float64 `json:"high,omitempty"`
	Late       bool    `json:"late"` // the rank is late for it by more than chance allows
}

// OperatorDifference is one operator on a rank beside its peers.
type OperatorDifference struct {
	Op        string  `json:"op"` // whole name
	Own       int64   `json:"own_ns"`
	Peers     int64   `json:"peers_ns"`
	Steps     int     `json:"steps"` // in which it differs
	Of        int     `json:"of"`
	Count     float64 `json:"count"` // launches a step
	PeerCount float64 `json:"peer_count"`
	Excess    int64   `json:"excess_ns"`
	All       int64   `json:"all_excess_ns"` // of all operators of the rank there; 0: it is the only one
}

// CollectiveWait: the long collectives of the peers are wait for the rank.
type CollectiveWait struct {
	Rank        int   `json:"rank"`
	Own         int64 `json:"own_ns"`
	OwnWaited   int64 `json:"own_waited_ns"`
	Peers       int64 `json:"peers_ns"` // median
	PeersWaited int64 `json:"peers_waited_ns"`
}

// GroupOperators compares operators that all role groups launch as often.
type GroupOperators struct {
	Group  string             `json:"group"`
	N      int                `json:"n"` // that take longer for certain
	Of     int                `json:"of"`
	Excess int64              `json:"excess_ns"`
	First  OperatorDifference `json:"first"`
}

func (RankOperators) Kind() Kind { return "rank_operators" }

// SpentIn is the line of the program in which a rank spends what it is late by.
type SpentIn struct {
	Rank   int        `json:"rank"`
	Stage  string     `json:"stage"`
	Source SourceLine `json:"source_line"`
	Own    int64      `json:"own_ns"`
	Peers  int64      `json:"peers_ns"`
	Steps  int        `json:"steps"` // that were profiled
}

func (OperatorDifference) Kind() Kind { return "operator_difference" }
func (CollectiveWait) Kind() Kind     { return "collective_wait" }
func (GroupOperators) Kind() Kind     { return "group_operators" }
func (SpentIn) Kind() Kind            { return "spent_in" }

// InputsUnknown: the inputs of operators may be larger, which their names do
// not tell.
const InputsUnknown Reason = "inputs_unknown"
