package evidence

import "math"

// The evidence that windows of stage times give. Times are nanoseconds.

// LastToArrive: the group waited for a rank at synchronisation points, because
// of one stage or (Stage "") of several, most of it in Mainly.
type LastToArrive struct {
	Rank   int     `json:"rank" doc:"the rank; where ranks are late together one of them"`
	Ranks  []int   `json:"ranks,omitempty" doc:"ranks that are late together, of which one is the last; absent: rank alone"`
	Stage  string  `json:"stage,omitempty" doc:"stage that makes it late; absent: several"`
	Mainly string  `json:"mainly,omitempty" doc:"of several stages, the one with most of the delay"`
	N      int     `json:"n" doc:"synchronisation points at which it was last, of those"`
	Of     int     `json:"of" doc:"synchronisation points at which it was late"`
	Every  int     `json:"every,omitempty" doc:"period of the synchronisation, steps; absent: ranks synchronise in every step"`
	Excess int64   `json:"excess_ns" doc:"how much longer than its peers' median a step took it where it was late, mean"`
	P      float64 `json:"p" doc:"chance of it if all ranks were alike; corrected for ranks and stages"`
	Line   *Line   `json:"line,omitempty" doc:"it is later and later, or less and less; absent: not so"`
	Ends   bool    `json:"ends,omitempty" doc:"it recorded none of the last steps that others did"`
}

// Line is by how much a rank is late where that grows or falls evenly.
type Line struct {
	Steps [2]int64 `json:"steps" doc:"first and last step that it strikes"`
	From  int64    `json:"from_ns" doc:"by how much it is late in the first"`
	To    int64    `json:"to_ns" doc:"and in the last"`
}

// Grows reports whether it is later and later.
func (l Line) Grows() bool { return l.To > l.From }

// OwnPace: a rank is in a stage for as long as the rest of its step leaves, as one that waits for what comes at its own pace: a
// queue, a service, storage.
type OwnPace struct {
	Rank  int     `json:"rank" doc:"the rank that waits"`
	Stage string  `json:"stage" doc:"stage in which it waits"`
	Slope float64 `json:"slope" doc:"how much of each change in the rest of its step the stage makes up for; 1: all of it"`
	Low   float64 `json:"low" doc:"slope lies above it, with high at 99 %"`
	High  float64 `json:"high" doc:"slope lies below it"`
	Peers []int   `json:"peers,omitempty" doc:"ranks that wait there too, and would go on no faster without it"`
}

// Replay is the steps with ranks brought to their peers' median.
type Replay struct {
	Ranks   []int   `json:"ranks,omitempty" doc:"ranks brought to their peers' median"`
	Saves   float64 `json:"saves" doc:"exposed time that goes, as a fraction"`
	Charged float64 `json:"charged,omitempty" doc:"exposed time that is charged to the ranks, as a fraction"`
}

// MatchesCharge reports whether a replay saves about what is charged.
func (r Replay) MatchesCharge() bool { return math.Abs(r.Saves-r.Charged) <= 0.25*r.Charged }

// LateTogether: several ranks are late for the same reason, and what fixing all
// of them saves.
type LateTogether struct {
	Ranks   []int   `json:"ranks" doc:"the ranks"`
	Host    string  `json:"host,omitempty" doc:"host whose ranks they are, all of them and no other"`
	Group   string  `json:"group,omitempty" doc:"role group whose ranks they are, all of them and no other"`
	Gain    float64 `json:"gain" doc:"part of those steps that fixing all of them saves"`
	RunGain float64 `json:"run_gain" doc:"part of the run that fixing all of them saves"`
	Spans   []Span  `json:"spans,omitempty" doc:"where they are late one after another, when each is"`
	Others  []int   `json:"others,omitempty" doc:"where they are more than half of the ranks, those that take less: which is usual is not in the times"`
}

// Span is from which step to which a rank is late.
type Span struct {
	Rank  int      `json:"rank" doc:"the rank"`
	Steps [2]int64 `json:"steps" doc:"first and last step"`
}

// SyncPoint: where the ranks synchronise, and how that is known.
type SyncPoint struct {
	Stage string  `json:"stage" doc:"stage at whose end ranks synchronise"`
	Every int     `json:"every,omitempty" doc:"period of the synchronisation, steps; absent: ranks synchronise in every step"`
	By    string  `json:"by" doc:"how that is known: named by the user, calls that ranks enter, slope, or the name of the stage"`
	Slope float64 `json:"slope,omitempty" doc:"by slope: time that a rank spends less there for each unit that it arrives later"`
	Low   float64 `json:"low,omitempty" doc:"lower bound of the slope"`
	High  float64 `json:"high,omitempty" doc:"upper bound of the slope"`
}

// DeviceTime: device events of one stage next to the host's time: of a rank and its
// peers, or of all ranks alike.
type DeviceTime struct {
	Channel string `json:"channel,omitempty" doc:"side channel of the device events"`
	Stage   string `json:"stage" doc:"the stage"`
	Rank    *int   `json:"rank" doc:"the rank; null: all ranks alike"`
	Device  int64  `json:"device_ns" doc:"time on the device, a sampled step"`
	Peers   int64  `json:"peers_ns,omitempty" doc:"time on the devices of its peers, median"`
	Host    int64  `json:"host_ns" doc:"time on the host, a step"`
	Samples int    `json:"samples" doc:"device events that were ready"`
}

// GroupWork: the time that the ranks of a role group do not wait, a step.
type GroupWork struct {
	Group  string `json:"group" doc:"the role group"`
	Own    int64  `json:"own_ns" doc:"its time"`
	Others int64  `json:"others_ns" doc:"time of the other groups, median"`
}

// Slower: a stage takes longer on all ranks than it did before: in another window of
// the run, or in a healthy run.
type Slower struct {
	Stage     string   `json:"stage" doc:"the stage"`
	Steps     [2]int64 `json:"steps" doc:"first and last step in which it takes longer"`
	Time      int64    `json:"ns" doc:"its time there, a step"`
	Baseline  bool     `json:"baseline" doc:"compared with a healthy run; false: with other steps of the run"`
	BaseSteps [2]int64 `json:"base_steps" doc:"first and last of those steps"`
	BaseTime  int64    `json:"base_ns" doc:"its time in those, a step"`
	Grows     bool     `json:"grows,omitempty" doc:"evenly, from base_ns in the first step to ns in the last"`
	BaseN     int      `json:"base_n,omitempty" doc:"steps of the healthy run"`
	Low       int64    `json:"low_ns,omitempty" doc:"lower bound of the difference, 95 % for all stages together"`
	High      int64    `json:"high_ns,omitempty" doc:"upper bound of the difference"`
}

// InputBound: all ranks wait for data most of each step.
type InputBound struct {
	Stage string  `json:"stage" doc:"the stage that waits for data"`
	Share float64 `json:"share" doc:"its part of the middle step"`
}

// SlowSteps: steps that are longer on all ranks alike, in several stages.
type SlowSteps struct {
	N      int     `json:"n" doc:"such steps"`
	Of     int     `json:"of" doc:"steps of the run"`
	Factor float64 `json:"factor" doc:"their length over that of the median step"`
	Excess int64   `json:"excess_ns" doc:"how much longer they are"`
	First  int64   `json:"first" doc:"the first of them"`
	Last   int64   `json:"last" doc:"the last of them"`
}

// LateIntermittently: ranks are late because of a stage, now one and now another.
type LateIntermittently struct {
	Stage string  `json:"stage" doc:"the stage"`
	Saves float64 `json:"saves" doc:"exposed time that goes if none is late, as a fraction"`
	Ranks int     `json:"ranks" doc:"ranks that were compared"`
	Late  []int   `json:"late_ranks" doc:"ranks that are late, the most often first"`
	Turns []int   `json:"turns" doc:"in how many steps each of them is"`
	P     float64 `json:"p" doc:"chance that turns differ so much where every rank is as likely to be late as any other; 0: too few to tell"`
	Even  bool    `json:"even" doc:"p is above 0.05: none is late more often than the others"`
}

// RankToRank: the same delay on another rank in each stretch of the run.
type RankToRank struct {
	Stage string   `json:"stage" doc:"the stage"`
	Ranks []int    `json:"ranks" doc:"the ranks, in order of time"`
	Hosts []string `json:"hosts" doc:"hosts that they are on, each once"`
	Saves float64  `json:"saves" doc:"what fixing all of them cuts the run by, as a fraction"`
	P     float64  `json:"p" doc:"chance that no two stretches overlap, if each lay anywhere"`
}

// RecurringHost: late ranks of several runs are on one host.
type RecurringHost struct {
	Host string  `json:"host" doc:"the host"`
	N    int     `json:"n" doc:"runs with a late rank on it"`
	Of   int     `json:"of" doc:"runs with a late rank"`
	P    float64 `json:"p,omitempty" doc:"chance of it if the late rank of every run were on any host alike; corrected for the number of hosts"`
}

// NobodyLate: what was looked for and not found.
type NobodyLate struct {
	Ranks int   `json:"ranks" doc:"ranks that were compared"`
	Steps int   `json:"steps" doc:"steps that were compared"`
	Skew  int64 `json:"skew_ns" doc:"arrival skew at the synchronisation point, median over steps: by stage times the last arrival less the median one, by entries of calls the last less the first; 0: not known"`
	Step  int64 `json:"step_ns" doc:"length of a step"`
	// Last is the rank that is last most often; nil where that was not tested.
	Last *LastMostOften `json:"last_most_often" doc:"the rank that is last most often; null: not tested"`
}

// LastMostOften is the rank that arrives last most often, and the test of that.
type LastMostOften struct {
	Rank        int     `json:"rank" doc:"the rank"`
	N           int     `json:"n" doc:"arrivals that it was the last of"`
	Of          int     `json:"of" doc:"arrivals of which one rank alone was the last"`
	Behind      int64   `json:"behind_ns" doc:"how far it is behind the median of the others where it is last, median"`
	P           float64 `json:"p" doc:"chance that any rank is last so often if each is as likely to be, turns that are correlated in time counted as fewer"`
	Significant bool    `json:"significant" doc:"p is at most 0.05: that rank is last more often than chance"`
}

// Distribution: the second stage finds the same rank: its own work exceeds its peers' by more than a margin, by the
// distribution of completion times (K-S), and waits lead to it.
type Distribution struct {
	Rank    int     `json:"rank" doc:"the rank"`
	Stage   string  `json:"stage,omitempty" doc:"stage in which it exceeds its peers; absent: several, or what no stage covers"`
	Several bool    `json:"several" doc:"it exceeds them in the sum of several stages, and in none by itself"`
	Level   int64   `json:"level_ns" doc:"own work beyond the median of its peers, a step"`
	Margin  int64   `json:"margin_ns" doc:"margin that is taken off before"`
	D       float64 `json:"d" doc:"largest weighted departure of the distributions beyond the margin"`
	P       float64 `json:"p" doc:"chance that any rank of the run differs so in distribution and waits, were all alike"`
	Last    int     `json:"last" doc:"steps in which it is last even less the margin, ranks compared with levels taken off"`
	Of      int     `json:"of" doc:"steps that were compared"`
	// Of a worker of an operator trace.
	Workers  bool `json:"workers,omitempty" doc:"ranks are workers, which stand for several each"`
	Walks    int  `json:"walks,omitempty" doc:"walks of blame that end there"`
	Symptoms int  `json:"symptoms,omitempty" doc:"walks in all"`
}

// OneRank: what takes the steps of the only rank, and where that changes.
type OneRank struct {
	Stage   string   `json:"stage" doc:"the stage that takes most of a step"`
	Time    int64    `json:"ns" doc:"its time, a step, on average"`
	Step    int64    `json:"step_ns" doc:"length of a step, on average, without the start-up"`
	StartUp int      `json:"startup_steps" doc:"steps at the start that are far longer, and set apart"`
	First   int64    `json:"startup_ns" doc:"length of the first of them"`
	Changes []Change `json:"changes" doc:"where steps become longer, the costliest first"`
	// Longest is nil where no profiler recorded it.
	Longest []LongestOperators `json:"longest" doc:"what it works at by name, of what it launched or called, and of the functions of its program"`
}

// Change is steps of the only rank that are longer than others.
type Change struct {
	Stage  string   `json:"stage" doc:"the stage that is longer"`
	Steps  [2]int64 `json:"steps" doc:"the first and the last of them"`
	Before int64    `json:"before_ns" doc:"time of the stage before them, of a level that changes; 0: they are single steps"`
	After  int64    `json:"after_ns" doc:"its time from there on"`
	Grows  bool     `json:"grows" doc:"evenly, from before_ns to after_ns"`
	Every  int      `json:"every" doc:"steps from one to the next, of a period; 0: of none"`
	N      int      `json:"n" doc:"how many they are"`
	Of     int      `json:"of" doc:"steps of the run"`
	Excess int64    `json:"excess_ns" doc:"how much longer each of them is"`
	Share  float64  `json:"share" doc:"part of the run that this takes"`
}

// DeviceShares: how the device of the only rank spends its steps.
// Fractions of whole steps; kinds of work overlap.
type DeviceShares struct {
	Compute       float64 `json:"compute" doc:"computing"`
	Communication float64 `json:"communication" doc:"communicating"`
	Exposed       float64 `json:"exposed_communication" doc:"communicating with nothing to cover it"`
	Memory        float64 `json:"memory" doc:"copying or setting memory"`
	ExposedMemory float64 `json:"exposed_memory" doc:"copying or setting memory with nothing to cover it"`
	Idle          float64 `json:"idle" doc:"idle"`
	IdleHost      float64 `json:"idle_host" doc:"idle until the host launched the next work, which it does more slowly than the device works"`
	IdleSync      float64 `json:"idle_synchronised" doc:"idle until the host launched the next work, having waited for the device until nothing ran"`
	IdleData      float64 `json:"idle_data" doc:"idle while the host waited for data"`
	IdleLaunched  float64 `json:"idle_launched" doc:"idle though the next work was launched"`
}

// LongestOperators are what the only rank works at longest.
type LongestOperators struct {
	Operators []OperatorTime `json:"operators" doc:"those that take longest, the longest first"`
	Names     int            `json:"names" doc:"different operators in all"`
	Time      int64          `json:"ns" doc:"all of them together, a step; what runs side by side counts twice"`
	Functions bool           `json:"functions" doc:"they are functions of the program, by the lines that they stand at, without what they call"`
}

// OperatorTime is what an operator takes.
type OperatorTime struct {
	Op    string  `json:"op" doc:"whole name of the operator"`
	Stage string  `json:"stage" doc:"stage that launches it; empty: several, or none"`
	Time  int64   `json:"ns" doc:"its time, a step, on average"`
	Count float64 `json:"count" doc:"launches a step, on average"`
}

// BetweenSteps: how long ranks spend between steps, where no stage is recorded: evaluation, checkpoints, the
// time between epochs.
type BetweenSteps struct {
	Time   int64   `json:"time_ns" doc:"median over ranks"`
	Share  float64 `json:"share" doc:"part of it in the time of steps and between them"`
	Rank   int     `json:"rank" doc:"the rank that spends longest there"`
	Excess int64   `json:"excess_ns" doc:"by how much longer than the median of the other ranks, who wait for it there or in the step that follows; 0 where that is less than a hundredth of the whole"`
}

func (BetweenSteps) Kind() Kind       { return "between_steps" }
func (OwnPace) Kind() Kind            { return "own_pace" }
func (LastToArrive) Kind() Kind       { return "last_to_arrive" }
func (Replay) Kind() Kind             { return "replay" }
func (LateTogether) Kind() Kind       { return "late_together" }
func (SyncPoint) Kind() Kind          { return "sync_point" }
func (DeviceTime) Kind() Kind         { return "device_time" }
func (GroupWork) Kind() Kind          { return "group_work" }
func (Slower) Kind() Kind             { return "slower" }
func (InputBound) Kind() Kind         { return "input_bound" }
func (SlowSteps) Kind() Kind          { return "slow_steps" }
func (LateIntermittently) Kind() Kind { return "late_intermittently" }
func (RankToRank) Kind() Kind         { return "rank_to_rank" }
func (RecurringHost) Kind() Kind      { return "recurring_host" }
func (NobodyLate) Kind() Kind         { return "nobody_late" }
func (Distribution) Kind() Kind       { return "distribution" }
func (OneRank) Kind() Kind            { return "one_rank" }
func (DeviceShares) Kind() Kind       { return "device_shares" }
