package evidence

// The evidence that the operators behind the stages of windows give. Times are
// nanoseconds a step.

// LaunchedOperators compares what a rank launched in a stage with its peers, or what
// the ranks of a role group launch as often as all other groups.
type LaunchedOperators struct {
	Rank       *int    `json:"rank" doc:"the rank; null: a role group"`
	Group      string  `json:"group,omitempty" doc:"the role group"`
	Stage      string  `json:"stage,omitempty" doc:"stage in which they were launched; absent: all of them"`
	N          int     `json:"n" doc:"operators that take significantly longer"`
	Of         int     `json:"of" doc:"operators that were compared"`
	Own        int64   `json:"own_ns,omitempty" doc:"time of its operators"`
	Peers      int64   `json:"peers_ns,omitempty" doc:"time of its peers' operators, median"`
	Excess     int64   `json:"excess_ns" doc:"how much longer the n operators take"`
	Tested     bool    `json:"tested" doc:"there are enough peers for a test"`
	DeviceWide bool    `json:"device_wide,omitempty" doc:"the n operators are many and slow by one factor: the device is slow, not one operator"`
	Low        float64 `json:"low,omitempty" doc:"the least of their factors"`
	High       float64 `json:"high,omitempty" doc:"the largest of their factors"`
	Late       bool    `json:"late" doc:"the rank is late for it by more than chance allows"`

	First *OperatorDifference `json:"first,omitempty" doc:"of a role group: the operator that differs most"`
}

// OperatorDifference is one operator on a rank next to its peers.
type OperatorDifference struct {
	Op        string  `json:"op" doc:"whole name of the operator"`
	Own       int64   `json:"own_ns" doc:"its time on the rank"`
	Peers     int64   `json:"peers_ns" doc:"its time on the peers, median"`
	Steps     int     `json:"steps" doc:"steps in which it differs"`
	Of        int     `json:"of" doc:"steps that were compared"`
	Count     float64 `json:"count" doc:"launches a step"`
	PeerCount float64 `json:"peer_count" doc:"launches a step on the peers"`
	Excess    int64   `json:"excess_ns" doc:"how much longer it takes"`
	All       int64   `json:"all_excess_ns" doc:"how much longer all operators of the rank take there; 0: it is the only one"`
}

// CollectiveWait: the long collectives of the peers are wait for the rank.
type CollectiveWait struct {
	Rank        int   `json:"rank" doc:"the rank that is waited for"`
	Own         int64 `json:"own_ns" doc:"time of its collectives"`
	OwnWaited   int64 `json:"own_waited_ns" doc:"part of it that is wait"`
	Peers       int64 `json:"peers_ns" doc:"time of the peers' collectives, median"`
	PeersWaited int64 `json:"peers_waited_ns" doc:"part of it that is wait"`
}

// SpentIn is the line of the program in which a rank spends what it is late by.
type SpentIn struct {
	Rank   int        `json:"rank" doc:"the rank"`
	Stage  string     `json:"stage" doc:"stage that the line is in"`
	Source SourceLine `json:"source_line" doc:"the line"`
	Own    int64      `json:"own_ns" doc:"time that the rank spends there"`
	Peers  int64      `json:"peers_ns" doc:"time that its peers spend there, median"`
	Steps  int        `json:"steps" doc:"steps that were profiled"`
}

func (LaunchedOperators) Kind() Kind  { return "launched_operators" }
func (OperatorDifference) Kind() Kind { return "operator_difference" }
func (CollectiveWait) Kind() Kind     { return "collective_wait" }
func (SpentIn) Kind() Kind            { return "spent_in" }
