package publish

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/suspects"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Traffic is what a job communicated: sfstat comm.
type Traffic struct {
	Schema        string                    `json:"schema" doc:"name and version of this form"`
	Headline      string                    `json:"headline" doc:"the answer in one sentence"`
	Confidence    Name[evidence.Confidence] `json:"confidence" doc:"how far the finding may be trusted"`
	Findings      []Finding                 `json:"findings" doc:"what delays the job: certain findings first, then by what they cost"`
	Undecided     []Undecided               `json:"undecided" doc:"what the data cannot tell, each with what would"`
	Next          []Action                  `json:"next" doc:"what to do next, the most useful first"`
	OpCounts      map[string]int64          `json:"op_counts" doc:"calls in the logs by operation: complete lines, each call once, tuning lines not counted"`
	Unparsed      int64                     `json:"unparsed_lines" doc:"lines that begin like NCCL's and were not understood, such as calls cut short; see not_understood"`
	Ranks         []CommRank                `json:"ranks" doc:"the processes of the job, by rank"`
	Strategy      []Dimension               `json:"strategy" doc:"the dimensions in which the job is parallel, from the ranks nearest to each other to the farthest; empty where no communicator has a known kind"`
	Communicators []Communicator            `json:"communicators" doc:"the communicators, in the order of the logs"`
	Clocks        []TrafficClock            `json:"clocks" doc:"the clock of each rank that is in an export, by rank"`
	Matches       Matches                   `json:"matches" doc:"how many calls found their kernel"`
	Lateness      []Lateness                `json:"lateness" doc:"how ranks arrive at collectives, by rank; a rank without a collective in which all ranks were seen is left out"`
	Bandwidth     []Bandwidth               `json:"bandwidth" doc:"how fast data moved, waiting left out, by communicator or pair of ranks, operation and size"`
	Slow          []Slow                    `json:"slow" doc:"communicators and pairs of ranks that are surely slower than those that do the same, by what it costs"`
	Messages      []Message                 `json:"messages" doc:"pairs of ranks that send each other messages, ascending"`
	Accounts      []TrafficAccount          `json:"volumes" doc:"what each rank communicated next to what --model says; empty without it"`
	Warnings      []Warning                 `json:"warnings" doc:"what NCCL warned of"`
	NotRead       []Example                 `json:"not_understood" doc:"what unparsed_lines counts, by reason, the most frequent first, with the first of each"`
	Notes         []string                  `json:"notes" doc:"how processes were paired and ranks numbered, and what is lacking, as sentences"`
	Problems      []Problem                 `json:"problems" doc:"inputs that were refused; the others were analysed"`
}

// CommRank is one process of the job.
type CommRank struct {
	Rank    int                `json:"rank" doc:"number in the job"`
	Host    string             `json:"host" doc:"host, up to the first dot"`
	PID     int64              `json:"pid" doc:"process, as the log numbers it, or else the export; 0 where neither does"`
	Device  *int64             `json:"device" doc:"CUDA index of its GPU; null: not known"`
	Logged  bool               `json:"logged" doc:"it left a log"`
	Export  string             `json:"sqlite_file" doc:"the export that it is in; empty without one"`
	Pairing Name[comm.Pairing] `json:"paired_by" doc:"how the process of the log was found in the export"`
	Join    Name[comm.Join]    `json:"tied_by" doc:"how its calls were tied to its kernels: by NCCL's own NVTX ranges or the numbers of its Inspector, which is exact, or by alignment"`
	Calls   int                `json:"calls" doc:"calls in its log, and those that NVTX ranges add"`
	Pairs   int                `json:"matches" doc:"pairs of one of its calls and a kernel"`
	Certain int                `json:"certain_matches" doc:"of them those that are certain"`
}

// Dimension is one dimension of a job's strategy, and what speaks for it.
type Dimension struct {
	Kind    Name[parallel.Kind] `json:"kind" doc:"what it is for"`
	Ranks   *int                `json:"nranks" doc:"ranks of each group; null where groups are not all of one size"`
	Groups  int                 `json:"groups" doc:"communicators of more than one rank that are for it"`
	Variant Name[comm.Variant]  `json:"variant" doc:"how it is done: activations of split sequences; gradients reduce-scattered and parameters gathered once; parameters gathered for forward and backward"`
	Steps   int                 `json:"steps" doc:"steps that large_calls are of; 0: the whole recording"`
	Ops     []OpCount           `json:"large_calls" doc:"calls of at least 16 KiB of one rank of its first group, most first"`
}

// OpCount is how often an operation was called.
type OpCount struct {
	Op    Name[nccl.Op] `json:"op" doc:"operation"`
	Calls int           `json:"calls" doc:"calls of the rank"`
}

// Communicator is one communicator of the job and what was done on it.
type Communicator struct {
	ID        string              `json:"id" doc:"commId as the log writes it; of a split the parent's with number and colour; else host, pid and pointer"`
	Kind      Name[parallel.Kind] `json:"kind" doc:"what it is for: data, tensor, pipeline, expert or context parallelism"`
	Evidence  []string            `json:"evidence" doc:"why it is taken for that, as sentences"`
	Ranks     []int               `json:"ranks" doc:"ranks of the job that are in it and left a log, ascending"`
	NRanks    int                 `json:"nranks" doc:"ranks that are in it"`
	Hosts     int                 `json:"hosts" doc:"hosts of ranks"`
	Ops       []OpUse             `json:"operations" doc:"what was called on it, most calls first"`
	Signature *Signature          `json:"signature" doc:"how the rank with most calls on it uses it; null without calls"`
}

// OpUse is what was done with one operation.
type OpUse struct {
	Op    Name[nccl.Op] `json:"op" doc:"operation"`
	Calls int64         `json:"calls" doc:"calls of all ranks"`
	Bytes int64         `json:"bytes" doc:"count × size of the type as logged, of all ranks: for AllGather and ReduceScatter what one rank contributes or keeps"`
}

// Signature is how a communicator is used, by one rank that has most calls on it.
type Signature struct {
	Calls      int      `json:"calls" doc:"calls of the rank"`
	Large      int      `json:"large_calls" doc:"of them those of at least 16 KiB"`
	Steps      int      `json:"steps" doc:"steps that its NVTX ranges mark; 0 where none do"`
	PerStep    *float64 `json:"large_calls_per_step" doc:"null without steps"`
	Repeats    *float64 `json:"repeats_of_one_size" doc:"how often the most frequent size of large calls comes, in a step; in all where there are none"`
	Burstiness *float64 `json:"burstiness" doc:"(σ − μ)/(σ + μ) of the times between calls: −1 even, 1 in bursts; null without times"`
	Largest    int64    `json:"largest_bytes" doc:"the largest message"`
}

// TrafficClock is the clock of a rank.
type TrafficClock struct {
	Host       string   `json:"host" doc:"host"`
	Rank       int      `json:"rank" doc:"rank"`
	Known      bool     `json:"known" doc:"there were enough collectives in common to compare the clocks"`
	Offset     *int64   `json:"offset_ns" doc:"time that the export of this rank is ahead of that of the first rank, at at_ns; null where not known"`
	Drift      *float64 `json:"drift_ppm" doc:"millionths that it gains; 0 where that is within the error"`
	At         *int64   `json:"at_ns" doc:"where the offset holds, on the first clock: the first NVTX range or kernel of NCCL of its export"`
	Residual   *int64   `json:"residual_ns" doc:"median distance of a collective's ends from that line"`
	SyncPoints int      `json:"collectives" doc:"collectives that the offset rests on"`
}

// Matches is how many calls found their kernel.
type Matches struct {
	Pairs     int `json:"pairs" doc:"pairs of call and kernel"`
	Certain   int `json:"certain" doc:"of them certain: in every alignment that is nearly as good"`
	Unmatched int `json:"calls_without_kernel" doc:"calls that launch a kernel, of ranks in an export, for which none was found"`
	Leftover  int `json:"kernels_without_call" doc:"kernels of NCCL for which no call was found"`
}

// Lateness is how a rank arrives at collectives.
type Lateness struct {
	Rank    int    `json:"rank" doc:"rank"`
	Of      int    `json:"collectives" doc:"collectives with others, of which all ranks were seen and surely matched"`
	Last    int    `json:"last" doc:"collectives of these that it entered last"`
	Caused  int64  `json:"caused_ns" doc:"time that it alone made the others wait: its start less that of the last but one, over all of those"`
	Typical int64  `json:"usually_ns" doc:"median of caused_ns over those collectives"`
	Waited  int64  `json:"waited_ns" doc:"from its own start to the last one's, over all collectives"`
	Moving  int64  `json:"transfer_ns" doc:"from the last start to its own end, over all"`
	Own     *int64 `json:"own_ns" doc:"own delay: how much later than the median rank it arrives because more time passed since its last kernel of NCCL; null where dumps of the Inspector do not show it"`
}

// Way is which way messages go.
type Way string

// Names returns all ways.
func (Way) Names() []string { return []string{"forth", "back", "both"} }

// Bandwidth is how fast the calls of one operation and one size class were.
type Bandwidth struct {
	Communicator string              `json:"communicator" doc:"id of the communicator; of a pair of ranks, the first that they were seen to send on"`
	Op           string              `json:"op" doc:"operation; Send/Recv for messages between two ranks"`
	From         int64               `json:"from_bytes" doc:"messages from this size to below twice as much, as logged"`
	Calls        int                 `json:"calls" doc:"collectives or messages"`
	Transfer     int64               `json:"transfer_ns" doc:"from the last start to the last end, the median"`
	Wait         int64               `json:"wait_ns" doc:"mean wait of a rank, the median"`
	Algorithm    *float64            `json:"algorithm_gbps" doc:"size over transfer, 10⁹ bytes a second"`
	Bus          *float64            `json:"bus_gbps" doc:"the same times the factor of nccl-tests: what each link of a ring carries"`
	Link         string              `json:"limit_link" doc:"class of the narrowest link, as NCCL names it, or nccl-tests where --limit has the operation; empty where neither is known"`
	Limit        *float64            `json:"limit_gbps" doc:"what it carries, or what nccl-tests reached at the mean size of the calls; null likewise"`
	Efficiency   *float64            `json:"efficiency" doc:"bus_gbps over limit_gbps. Where NCCL drives several paths at once it may exceed 1"`
	Bound        Name[comm.Bound]    `json:"bound_by" doc:"what most of the time is; latency where at the limit the transfer would take less than the latency"`
	Ranks        []int               `json:"ranks" doc:"ranks of the communicator, or the two that send each other messages"`
	Way          *Way                `json:"way" doc:"of messages: from the lower rank to the higher, back, or both at once; null: a communicator"`
	Standing     Name[comm.Standing] `json:"beside_peers" doc:"how it compares with peers: those that do the same over the same kind of link"`
	Peers        int                 `json:"peers" doc:"others that it was compared with"`
	PeerBus      *float64            `json:"peers_bus_gbps" doc:"median of the others' bus_gbps; null without others"`
	P            *float64            `json:"p" doc:"chance of so low a bandwidth where all are alike, corrected for all comparisons; null without others"`
}

// Slow is a communicator or a pair of ranks that is surely slower than its peers.
type Slow struct {
	Communicator string   `json:"communicator" doc:"id of the communicator; of a pair of ranks, the first that they were seen to send on"`
	Ratio        *float64 `json:"ratio" doc:"its bus bandwidth over that of those that do the same, where that is least"`
	P            *float64 `json:"p" doc:"chance that one of a job in which nothing is slow looks so, corrected for all comparisons"`
	Cost         int64    `json:"cost_ns" doc:"time that its calls took more than at the others' bandwidth"`
}

// Message is the messages of a pair of ranks.
type Message struct {
	Low    int      `json:"low_rank" doc:"the lower rank"`
	High   int      `json:"high_rank" doc:"the higher rank"`
	Count  int      `json:"messages" doc:"messages, or exchanges both ways at once, of which both kernels are known"`
	Bytes  int64    `json:"bytes" doc:"bytes of them; of exchanges those of the larger direction"`
	Waits  [2]int64 `json:"waited_ns" doc:"how long the lower and the higher rank were there before the other, over all"`
	Last   [2]int   `json:"last" doc:"how often each of the two entered last"`
	Moving int64    `json:"transfer_ns" doc:"from the later start to the end, over all"`
}

// TrafficAccount is what a rank communicated beside a model.
type TrafficAccount struct {
	Rank   int          `json:"rank" doc:"rank of the job"`
	Bubble *float64     `json:"bubble_fraction" doc:"time in which pipeline stages idle while the pipeline fills and drains, over that in which they compute, by the model; 0 without a pipeline"`
	Rows   []TrafficRow `json:"rows" doc:"by dimension and operation, what accounts for most bytes first"`
}

// TrafficRow holds what was expected of one operation beside what was seen.
type TrafficRow struct {
	Dimension    Purpose  `json:"dimension" doc:"what it is communicated for"`
	Op           string   `json:"op" doc:"operation"`
	Expected     *float64 `json:"expected_bytes" doc:"what the model says, as logged; 0 where no formula is for it"`
	ExpectedSent *float64 `json:"expected_sent_bytes" doc:"what of that leaves the rank on a ring"`
	Observed     *float64 `json:"observed_bytes" doc:"what the rank called, as logged"`
	ObservedSent *float64 `json:"observed_sent_bytes" doc:"what of that leaves the rank on a ring"`
	Ratio        *float64 `json:"ratio" doc:"observed over expected bytes, as logged: calls_ratio times size_ratio; null where nothing is expected"`
	Count        *float64 `json:"calls_ratio" doc:"observed over expected calls"`
	Size         *float64 `json:"size_ratio" doc:"observed over expected mean size"`
}

// Purpose is what something is communicated for.
type Purpose string

// Names returns all purposes.
func (Purpose) Names() []string { return []string{"other", "DP", "TP", "PP", "EP", "CP", "EDP"} }

// Warning is a warning that NCCL printed.
type Warning struct {
	File string `json:"file" doc:"the log"`
	Line int64  `json:"line" doc:"line, from 1"`
	Text string `json:"text" doc:"the message, at most 200 bytes"`
}

// Example is the first of lines that were not understood.
type Example struct {
	About string `json:"about" doc:"what is wrong"`
	Count int64  `json:"count" doc:"lines"`
	File  string `json:"file" doc:"file of the first"`
	Line  int64  `json:"line" doc:"its line, from 1"`
	Text  string `json:"text" doc:"its text, at most 200 bytes"`
}

// TrafficWords word what an account of communication says in values alone.
type TrafficWords struct {
	Worded
	Kind  func(*parallel.Communicator) []string // why a communicator is taken for its kind
	Notes func(*comm.Result) []string
}

// TrafficOf returns the document of what a job communicated.
func TrafficOf(r *comm.Result, problems []Problem, words TrafficWords) Traffic {
	verdict := diagnose.Communication(r)
	v := RunOf(&verdict, words.Worded)
	out := Traffic{Schema: "sfstat.comm/1", Headline: v.Headline, Confidence: v.Confidence, Findings: v.Findings, Undecided: v.Undecided, Next: v.Next,
		OpCounts: map[string]int64{}, Unparsed: r.Unparsed, Ranks: []CommRank{},
		Strategy:      convert(comm.Strategy(r), dimensionOf),
		Communicators: convert(r.Communicators, func(c parallel.Communicator) Communicator { return communicatorOf(&c, words.Kind) }),
		Clocks:        convert(r.Clocks, func(c comm.Clock) TrafficClock { return trafficClockOf(r, &c) }),
		Matches:       Matches{Unmatched: r.Unmatched, Leftover: r.Leftover}, Lateness: latenessOf(r), Bandwidth: []Bandwidth{}, Slow: []Slow{}, Messages: MessagesOf(r),
		Accounts: convert(r.Accounts, func(a volume.Account) TrafficAccount {
			return TrafficAccount{r.Ranks[a.Rank].Rank, number(a.Bubble), convert(a.Rows, trafficRowOf)}
		}), Warnings: []Warning{}, NotRead: []Example{}, Notes: list(words.Notes(r)), Problems: list(problems)}
	for op, n := range r.OpCounts {
		out.OpCounts[op.String()] = n
	}
	for i := range r.Ranks {
		k := &r.Ranks[i]
		out.Ranks = append(out.Ranks, CommRank{k.Rank, k.Host, k.PID, nonNegative(k.Device), k.HasLog(), r.ProfileOf(i), nameOf(k.Pairing), nameOf(k.Join),
			len(k.Calls), k.Pairs, k.Certain})
		out.Matches.Pairs += k.Pairs
		out.Matches.Certain += k.Certain
	}
	for i := range r.Speed.Cells {
		out.Bandwidth = append(out.Bandwidth, bandwidthOf(r, &r.Speed.Cells[i]))
	}
	for _, s := range r.Speed.Suspects {
		out.Slow = append(out.Slow, Slow{communicatorID(r, s.Subject), number(s.Ratio), number(s.P), s.Cost})
	}
	for _, w := range r.Recorded.Warnings {
		out.Warnings = append(out.Warnings, Warning{r.Recorded.Sources[w.Source].Name, w.Line, w.Text})
	}
	for _, x := range r.Recorded.Unread {
		out.NotRead = append(out.NotRead, Example{x.Reason, x.Count, r.Recorded.Sources[x.Source].Name, x.Line, x.Text})
	}
	return out
}

func dimensionOf(d comm.Dimension) Dimension {
	return Dimension{nameOf(d.Kind), nonZero(d.Ranks), d.Groups, nameOf(d.Variant), d.Steps,
		convert(d.Ops, func(o comm.OpCount) OpCount { return OpCount{nameOf(o.Op), o.Calls} })}
}

func communicatorOf(c *parallel.Communicator, words func(*parallel.Communicator) []string) Communicator {
	out := Communicator{ID: c.ID, Kind: nameOf(c.Kind), Evidence: list(words(c)), Ranks: list(c.Ranks), NRanks: c.NRanks, Hosts: c.Hosts, Ops: convert(c.Ops, opUseOf)}
	if s := &c.Signature; s.Calls != 0 {
		out.Signature = &Signature{s.Calls, s.Large, s.Steps, number(s.PerStep), number(s.Repeats), number(s.Burstiness), s.Largest}
	}
	return out
}

func opUseOf(u parallel.OpUse) OpUse { return OpUse{nameOf(u.Op), u.Calls, u.Bytes} }

func trafficClockOf(r *comm.Result, c *comm.Clock) TrafficClock {
	k := &r.Ranks[c.Rank]
	out := TrafficClock{Host: k.Host, Rank: k.Rank, Known: c.Known, SyncPoints: c.Points}
	if c.Known {
		out.Offset, out.Drift, out.At, out.Residual = &c.Offset, number(c.Drift*1e6), &c.Epoch, &c.Residual
	}
	return out
}

// latenessOf returns how the ranks come to collectives; ranks that met none are left out.
func latenessOf(r *comm.Result) []Lateness {
	out := []Lateness{}
	all, _ := suspects.LatenessOf(r)
	for _, l := range all {
		if l.Of == 0 {
			continue
		}
		x := Lateness{r.Ranks[l.Rank].Rank, l.Of, l.Last, l.Caused, l.Typical, l.Waited, l.Moving, &l.Own}
		if r.Timeless || r.Sampled {
			x.Own = nil
		}
		out = append(out, x)
	}
	return out
}

func bandwidthOf(r *comm.Result, c *comm.Cell) Bandwidth {
	out := Bandwidth{Communicator: communicatorID(r, c.Subject), Op: r.WorkOf(c), From: 1 << c.Class, Calls: len(c.Calls), Transfer: c.Transfer, Wait: c.Wait,
		Algorithm: number(c.Algorithm), Bus: number(c.Bus), Limit: nonZeroNumber(c.Limit.Bandwidth), Efficiency: nonZeroNumber(c.Efficiency), Bound: nameOf(c.Bound),
		Ranks: list(r.RanksOf(c.Subject)), Standing: nameOf(c.Standing), Peers: c.Peers}
	if c.Limit.Bandwidth > 0 {
		out.Link = c.Limit.Source()
	}
	if r.Speed.Subjects[c.Subject].Edge {
		out.Way = nonZero(map[nccl.Op]Way{nccl.Send: "forth", nccl.Recv: "back", nccl.SendRecv: "both"}[c.Op])
	}
	if c.Peers != 0 {
		out.PeerBus, out.P = number(c.PeerBus), number(c.P)
	}
	return out
}

// communicatorID returns the communicator of a subject: of a pair of ranks, the first that they were seen to send on.
func communicatorID(r *comm.Result, subject int) string {
	return r.Communicators[r.Speed.Subjects[subject].Communicator].ID
}

// MessagesOf returns the pairs of ranks that send each other messages, ascending.
func MessagesOf(r *comm.Result) []Message {
	out := []Message{}
	at := map[[2]int]int{}
	for i := range r.Transfers {
		t := &r.Transfers[i]
		if !t.Certain {
			continue
		}
		key := [2]int{r.Ranks[t.Parts[0].Rank].Rank, r.Ranks[t.Parts[1].Rank].Rank}
		n, known := at[key]
		if !known {
			n = len(out)
			at[key], out = n, append(out, Message{Low: key[0], High: key[1]})
		}
		m := &out[n]
		m.Count++
		m.Bytes += t.Bytes
		m.Last[t.Last]++
		m.Waits[1-t.Last] += t.Begin - t.Parts[1-t.Last].Start
		m.Moving += max(t.End-t.Begin, 0)
	}
	slices.SortFunc(out, func(a, b Message) int { return cmp.Or(cmp.Compare(a.Low, b.Low), cmp.Compare(a.High, b.High)) })
	return out
}

func trafficRowOf(x volume.Row) TrafficRow {
	return TrafficRow{Purpose(x.Purpose()), x.Op.String(), number(x.Theory.Logged), number(x.Theory.Sent), number(x.Observed.Logged), number(x.Observed.Sent),
		number(x.Ratio), number(x.Count), number(x.Size)}
}

// Rows returns a row for each communicator and operation.
func (t Traffic) Rows() *Rows {
	r := rowsUnder("communicator kind nranks ranks op calls bytes")
	for _, c := range t.Communicators {
		for _, u := range c.Ops {
			r.add(c.ID, c.Kind, c.NRanks, c.Ranks, u.Op, u.Calls, u.Bytes)
		}
	}
	return r
}
