package publish

import (
	"maps"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/trace/comms"
)

// Jobs is the document of all commands over what ranks entered.
type Jobs[T any] struct {
	Schema   string    `json:"schema" doc:"name and version of this form"`
	Jobs     []T       `json:"jobs" doc:"one for each job of the input"`
	Problems []Problem `json:"problems" doc:"inputs that were refused; the others were analysed"`
}

// ArrivalJob is who arrives last in one job: sfstat arrivals.
type ArrivalJob struct {
	Run     string          `json:"run" doc:"name of the folder, or of the run whose packets lie in it"`
	Hang    bool            `json:"hang" doc:"the job stands still; sfstat hang says who is missing"`
	Ranks   []int           `json:"ranks" doc:"ranks that left a dump"`
	Missing []int           `json:"missing_ranks" doc:"members of groups that left no dump"`
	Calls   int             `json:"calls" doc:"calls that were read"`
	Lost    int64           `json:"lost_calls" doc:"calls that had left the rings before the dump"`
	Begin   int64           `json:"begin_ns" doc:"begin of the steps that repeat, on the first clock, since 1970"`
	End     int64           `json:"end_ns" doc:"end of the steps that repeat, likewise"`
	Step    int64           `json:"step_ns" doc:"length of a step; 0: nothing repeats"`
	ByOrder []string        `json:"matched_by_order" doc:"groups whose sequence numbers differ between ranks"`
	Silent  []string        `json:"messages_not_recorded" doc:"groups whose sends and receives are counted and not recorded"`
	Clocks  []ArrivalsClock `json:"clocks" doc:"clocks of the hosts"`
	Late    []LateRank      `json:"late" doc:"ranks that delay the others, the costliest first"`
	Set     *Set            `json:"late_set" doc:"ranks that are late together, the cause among them not known; null: none"`
	Places  []Place         `json:"places" doc:"places of the program from which ranks enter calls"`
}

// ArrivalsClock is one clock of the job.
type ArrivalsClock struct {
	Host      *string `json:"host" doc:"host of the clock; null where each process is taken to have its own"`
	Ranks     []int   `json:"ranks" doc:"ranks that read the clock"`
	Offset    int64   `json:"offset_ns" doc:"what is added to the clock to align it with the first"`
	HalfWidth *int64  `json:"half_width_ns" doc:"by how much the offset may be wrong by the entries, either way, while the others stay; null: they do not bound it; 0: there is one clock"`
}

// LateRank is a late rank and what is known of the place where it costs most.
type LateRank struct {
	Rank      int      `json:"rank" doc:"global rank"`
	Host      *string  `json:"host" doc:"host of the rank"`
	Stage     *string  `json:"stage" doc:"stage in which the call is entered, by packets next to the dumps"`
	LostIn    *string  `json:"lost_in" doc:"stage in which it loses more than half of its delay, by the stage times of packets"`
	Op        string   `json:"op" doc:"operation as recorded"`
	Group     string   `json:"group" doc:"process group of the rank"`
	Line      *Line    `json:"source_line" doc:"line of the program from which the call is entered"`
	Place     int      `json:"place" doc:"index in places of the one where it costs most"`
	Delay     int64    `json:"delay_ns" doc:"own delay there, mean over the points that it delayed"`
	Excess    int64    `json:"excess_ns" doc:"own delay over all strikes and places"`
	PerStep   int64    `json:"per_step_ns" doc:"own delay of a struck step, over all places, mean"`
	Struck    int      `json:"struck_steps" doc:"steps that it delayed, at any place"`
	Steps     int      `json:"steps" doc:"steps of the recording"`
	Strikes   int      `json:"strikes" doc:"synchronisation points there that it delayed"`
	Last      int      `json:"last" doc:"synchronisation points there that it entered last"`
	Points    int      `json:"points" doc:"synchronisation points there that it entered"`
	P         *float64 `json:"p" doc:"chance of so many strikes were all ranks alike; corrected for ranks and places"`
	Gain      *float64 `json:"gain" doc:"part of the struck steps that fixing it saves"`
	RunGain   *float64 `json:"run_gain" doc:"part of all steps that fixing it alone saves"`
	RunAtMost *float64 `json:"run_gain_at_most" doc:"the same where all others are fixed, if that is more"`
	FirstStep *int64   `json:"first_step" doc:"first struck step, where packets tell"`
	LastStep  *int64   `json:"last_step" doc:"last struck step, likewise"`
	Clock     bool     `json:"clock_not_excluded" doc:"the delay is smaller than the uncertainty of the rank's clock"`
}

// Line is the line of the user's code from which a call was entered.
type Line struct {
	File     string  `json:"file" doc:"as recorded"`
	Line     int     `json:"line" doc:"number of the line, from 1"`
	Function string  `json:"function" doc:"function that the line is in"`
	Call     *string `json:"call" doc:"library function that the line calls; null: not known"`
}

// String returns the line as people write it: "train.py:66".
func (l Line) String() string { return arrivals.Line{File: l.File, Line: l.Line}.String() }

// Set is ranks that arrive late together, after sends and receives that the record does not have.
type Set struct {
	Ranks []int `json:"ranks" doc:"ranks of the set"`
	Place int   `json:"place" doc:"index in places"`
	Delay int64 `json:"delay_ns" doc:"how much later than the others they arrive"`
}

// Place is one call of the program, over all ranks.
type Place struct {
	Op      string               `json:"op" doc:"operation as recorded"`
	Group   string               `json:"group" doc:"process group of the first of its points"`
	Desc    *string              `json:"group_description" doc:"of that group"`
	Stage   *string              `json:"stage" doc:"stage in which it is entered, by packets next to the dumps"`
	Phase   Name[arrivals.Phase] `json:"phase" doc:"part of a step that it is in, by the names of functions"`
	Line    *Line                `json:"source_line" doc:"line of the program from which it is entered"`
	After   string               `json:"after" doc:"operation of the call before it"`
	AfterAt *Line                `json:"after_line" doc:"line of the call before it"`
	Waits   int                  `json:"waits_for" doc:"how many calls back the one is that it is entered after waiting for; 0: it is entered without waiting"`
	Points  int                  `json:"points" doc:"synchronisation points that were compared"`
	Members int                  `json:"members" doc:"ranks of a point"`
	Skew    int64                `json:"skew_ns" doc:"last entry less first, median"`
	Noise   int64                `json:"noise_ns" doc:"robust standard deviation of own delays"`
	Strikes int                  `json:"strikes" doc:"own delays of all ranks beyond three times noise_ns"`
	Repeats bool                 `json:"repeats" doc:"it is entered in most steps, and not at the beginning only"`
	Ranks   []RankAt             `json:"ranks" doc:"the ranks at that place"`
}

// RankAt is how one rank does at a place.
type RankAt struct {
	Rank    int      `json:"rank" doc:"global rank"`
	Arrival int64    `json:"arrival_ns" doc:"arrival after the median of the members, median over points"`
	Delay   int64    `json:"delay_ns" doc:"own delay, median"`
	Last    int      `json:"last" doc:"synchronisation points there that it entered last"`
	Strikes int      `json:"strikes" doc:"points that it delayed"`
	Points  int      `json:"points" doc:"synchronisation points there that it entered"`
	Charge  int64    `json:"cost_ns" doc:"its part of what late ranks cost there"`
	P       *float64 `json:"p" doc:"chance of so many strikes were all ranks alike; corrected for ranks and places"`
}

// ArrivalJobOf returns who arrives last in one job.
func ArrivalJobOf(run string, r *arrivals.Result) ArrivalJob {
	out := ArrivalJob{Run: run, Hang: r.Hang != nil, Ranks: list(r.Ranks), Missing: list(r.Missing), Calls: r.Calls, Lost: r.Lost, Begin: r.Begin, End: r.End, Step: r.Step,
		ByOrder: list(r.ByOrder), Silent: list(r.Silent), Clocks: convert(r.Clocks, func(c sync.Clock) ArrivalsClock {
			return ArrivalsClock{nonZero(c.Host), list(c.Ranks), c.Offset, nonNegative(c.HalfWidth)}
		}), Late: convert(r.Late, func(c claim.Claim) LateRank { return lateRankOf(r, &c) }), Places: convert(r.Places, placeOf)}
	if s := r.Set; s != nil {
		out.Set = &Set{list(s.Ranks), s.Place, s.Delay}
	}
	return out
}

func lateRankOf(r *arrivals.Result, c *claim.Claim) LateRank {
	l, p := c.Entered, &r.Places[c.Entered.Place]
	out := LateRank{Rank: c.Rank(), Host: nonZero(c.HostName()), Op: p.Op, Stage: nonZero(p.Stage), Group: c.Group, Line: lineOf(p.Line), Place: l.Place,
		Delay: l.Delay, Excess: c.Charged(), PerStep: c.Size, Struck: c.Steps.Count, Steps: c.Steps.Of, Strikes: l.Strikes, Last: l.Last, Points: l.Points,
		P: number(c.P), Gain: number(c.StruckGain(r.End - r.Begin)), RunGain: number(c.Saves.Alone), RunAtMost: number(c.Saves.Largest()),
		FirstStep: nonNegative(l.Recorded[0]), LastStep: nonNegative(l.Recorded[1]), Clock: l.Clock}
	if l.Divided {
		out.LostIn = nonZero(l.Stage)
	}
	return out
}

func placeOf(p arrivals.Place) Place {
	return Place{p.Op, p.Group, nonZero(p.Desc), nonZero(p.Stage), nameOf(p.Phase), lineOf(p.Line), p.After, lineOf(p.AfterAt), p.Waits, p.Points, p.Members,
		p.Skew, p.Noise, p.Strikes, p.Repeats, convert(p.Ranks, func(a arrivals.RankAt) RankAt {
			return RankAt{a.Rank, a.Arrival, a.Delay, a.Last, a.Strikes, a.Points, a.Charge, number(a.P)}
		})}
}

// lineOf returns a line, nil where it is not known.
func lineOf(l arrivals.Line) *Line {
	if l.IsZero() {
		return nil
	}
	line := innermostOf(l)
	return &line
}

func innermostOf(l arrivals.Line) Line { return Line{l.File, l.Line, l.Function, nonZero(l.Call)} }

// ArrivalRows returns a row for each place and rank.
func ArrivalRows(jobs []ArrivalJob) *Rows {
	r := rowsUnder("run op group stage source_line call after waits_for points skew_ns noise_ns rank arrival_ns delay_ns last strikes cost_ns p")
	for _, j := range jobs {
		for _, p := range j.Places {
			var call *string
			if p.Line != nil {
				call = p.Line.Call
			}
			for _, a := range p.Ranks {
				r.add(j.Run, p.Op, p.Group, p.Stage, p.Line, call, p.After, p.Waits, a.Points, p.Skew, p.Noise, a.Rank, a.Arrival, a.Delay, a.Last, a.Strikes, a.Charge, a.P)
			}
		}
	}
	return r
}

// HangJob is who is missing where a job stands still: sfstat hang.
type HangJob struct {
	Run        string     `json:"run" doc:"name of the folder, or of the run whose packets lie in it"`
	Ranks      []int      `json:"ranks" doc:"ranks that left a dump"`
	Missing    []int      `json:"missing_ranks" doc:"members of groups that left no dump"`
	Hang       bool       `json:"hang" doc:"the job stands still"`
	Loop       bool       `json:"loop" doc:"groups wait for each other in a circle"`
	Roots      []int      `json:"root_ranks" doc:"ranks that did not enter a call and wait in no other: the others wait for them"`
	Blocked    []Blocked  `json:"blocked" doc:"in the order in which groups block one another"`
	Mismatches []Mismatch `json:"mismatches" doc:"calls that ranks of a group disagree on, the first of each group"`
	Stacks     []Stack    `json:"stacks" doc:"where main threads are by py-spy, that of most ranks first"`
	Asked      *Asked     `json:"ras" doc:"what NCCL answered of its counts; null: nobody asked"`
	Ended      []Ended    `json:"ended" doc:"ranks that ended, as their logs say"`
	Recovered  []string   `json:"recovered" doc:"messages of time-outs behind which the job went on"`
	Notes      []string   `json:"notes" doc:"what is not known of the stacks and of messages of time-outs"`
}

// Ended is how a rank ended.
type Ended struct {
	Rank int    `json:"rank" doc:"global rank"`
	How  string `json:"how" doc:"exception, or exit code of its process"`
}

// Blocked is one call that not all members entered.
type Blocked struct {
	Group    string   `json:"group" doc:"name of the process group"`
	Desc     *string  `json:"group_description" doc:"of the group"`
	Op       string   `json:"op" doc:"operation as recorded"`
	Seq      int64    `json:"seq" doc:"number of the call in the group"`
	Line     *Line    `json:"source_line" doc:"line of the program from which the others entered it"`
	Waiting  []int    `json:"waiting_ranks" doc:"ranks that entered it and wait"`
	Since    int64    `json:"since_ns" doc:"when the first of them entered, since 1970"`
	AtLeast  int64    `json:"waited_at_least_ns" doc:"time from then until the latest time in any dump"`
	Missing  []Absent `json:"missing" doc:"ranks that did not enter; none where it cannot be told who"`
	Unknown  []int    `json:"ranks_without_dump" doc:"members without a dump, or with one that does not show whether they entered: cut, damaged, empty, overwritten or older than the others'"`
	GaveUp   bool     `json:"gave_up" doc:"the ranks that wait say in their logs that they did so for too long; since_ns is not known"`
	WaitsFor *int     `json:"waits_for" doc:"index in blocked of the call that the missing ranks wait in; null: none"`
}

// Absent is a rank that did not enter.
type Absent struct {
	Rank  int                 `json:"rank" doc:"global rank"`
	May   bool                `json:"may" doc:"nothing shows whether it entered, and all others did"`
	Dump  Name[arrivals.Dump] `json:"dump" doc:"what there is of its dump"`
	Host  *string             `json:"host" doc:"host of the rank"`
	Seq   *int64              `json:"last_seq" doc:"number of its last call in the group; null: none is recorded"`
	Op    *string             `json:"last_op" doc:"operation of that call"`
	Line  *Line               `json:"last_line" doc:"line of the program from which that call was entered"`
	Enter *int64              `json:"last_enter_ns" doc:"when that call was entered; null: not known"`
	In    *string             `json:"waits_in_group" doc:"group that it waits in instead; null: none"`
}

// Mismatch is a call that members entered differently, or with sizes that cannot be.
type Mismatch struct {
	Difference Name[arrivals.Difference] `json:"difference" doc:"the first difference that was found"`
	Group      string                    `json:"group" doc:"name of the process group"`
	Desc       *string                   `json:"group_description" doc:"of the group"`
	Seq        int64                     `json:"seq" doc:"number of the call"`
	Sides      []Side                    `json:"sides" doc:"ranks that agree with each other, the largest set first"`
}

// Side is ranks that agree.
type Side struct {
	Ranks []int             `json:"ranks" doc:"ranks of the set"`
	Op    string            `json:"op" doc:"operation as recorded"`
	Sizes string            `json:"sizes" doc:"sizes of the inputs; where inputs and outputs differ, of both"`
	Types string            `json:"types" doc:"types of the inputs"`
	State Name[comms.State] `json:"state" doc:"how far the call got"`
	Line  *Line             `json:"source_line" doc:"from which it was entered"`
}

// Stack is where the main threads of some ranks were when somebody looked.
type Stack struct {
	Ranks []int `json:"ranks" doc:"ranks that have this stack"`
	Line  *Line `json:"source_line" doc:"first line outside of PyTorch, installed packages and the standard library, from the inside"`
	Inner Line  `json:"innermost" doc:"innermost frame"`
}

// Asked is what NCCL answered when it was asked how many calls each rank has launched (RAS).
type Asked struct {
	Reports    int      `json:"reports" doc:"reports that were compared"`
	Behind     []Behind `json:"behind" doc:"communicators that do not go on and whose members have launched unequal numbers of a collective"`
	Roots      []int    `json:"root_ranks" doc:"ranks that are behind, and ahead of nobody elsewhere"`
	Unanswered []int    `json:"unanswered_ranks" doc:"ranks that did not answer NCCL"`
	Errors     []string `json:"errors" doc:"errors of communicators, by rank"`
}

// Behind is a communicator whose members have launched unequal numbers of a collective.
type Behind struct {
	Communicator string `json:"communicator" doc:"hash of the communicator"`
	Name         string `json:"op" doc:"the collective"`
	Ranks        []int  `json:"ranks" doc:"ranks that are behind"`
	Least        int64  `json:"least" doc:"calls that the furthest behind has launched"`
	Most         int64  `json:"most" doc:"calls that the others have launched"`
	Ahead        []int  `json:"ahead" doc:"ranks that have launched most"`
	Stands       int64  `json:"stands_ns" doc:"time for which reports have said the same: the communicator does not go on; 0: there is one report"`
}

// HangJobOf returns who is missing in one job.
func HangJobOf(run string, r *arrivals.Result) HangJob {
	out := HangJob{Run: run, Ranks: list(r.Ranks), Missing: list(r.Missing), Hang: r.Hang != nil, Roots: []int{}, Blocked: []Blocked{},
		Mismatches: convert(r.Mismatches, mismatchOf), Ended: []Ended{}, Recovered: list(r.Recovered), Notes: list(r.Noted),
		Stacks: convert(r.Stacks, func(s arrivals.Stack) Stack { return Stack{list(s.Ranks), lineOf(s.Line), innermostOf(s.Inner)} })}
	for _, rank := range slices.Sorted(maps.Keys(r.Ended)) {
		out.Ended = append(out.Ended, Ended{rank, r.Ended[rank]})
	}
	if h := r.Hang; h != nil {
		out.Loop = h.Loop
		out.Roots = convert(h.Roots(), func(r arrivals.Root) int { return r.Rank })
		out.Blocked = convert(h.Groups, func(b arrivals.Blocked) Blocked { return blockedOf(h, &b) })
	}
	if a := r.Asked; a != nil {
		out.Asked = &Asked{a.Reports, convert(a.Behind, func(b arrivals.Behind) Behind {
			return Behind{b.Communicator, b.Name, list(b.Ranks), b.Least, b.Most, list(b.Ahead), b.Stands}
		}), list(a.Roots), list(a.Unanswered), list(a.Errors)}
	}
	return out
}

func blockedOf(h *arrivals.Hang, b *arrivals.Blocked) Blocked {
	unknown := list(slices.Clone(b.Unknown))
	for _, a := range b.Missing {
		if a.May {
			unknown = append(unknown, a.Rank)
		}
	}
	return Blocked{b.Group, nonZero(b.Desc), b.Op, b.Seq, lineOf(b.Line), list(b.Waiting), b.Since, h.WaitTime(b),
		convert(b.Missing, func(a arrivals.Absent) Absent {
			return Absent{a.Rank, a.May, nameOf(a.Dump), nonZero(a.Host), nonNegative(a.Seq), nonZero(a.Op), lineOf(a.Line), nonZero(a.Enter), nonZero(a.In)}
		}), unknown, b.GaveUp, nonNegative(b.WaitsFor)}
}

func mismatchOf(m arrivals.Mismatch) Mismatch {
	return Mismatch{nameOf(m.Difference), m.Group, nonZero(m.Desc), m.Seq, convert(m.Sides, func(s arrivals.Side) Side {
		return Side{list(s.Ranks), s.Op, s.Sizes, s.Types, nameOf(s.State), lineOf(s.Line)}
	})}
}

// HangRows returns a row for each rank that is missing or waits.
func HangRows(jobs []HangJob) *Rows {
	r := rowsUnder("run group op seq rank host state last_op last_seq last_line last_enter_ns")
	for _, j := range jobs {
		for _, b := range j.Blocked {
			for _, a := range b.Missing {
				state := "missing"
				if a.May {
					state = "may be missing"
				}
				r.add(j.Run, b.Group, b.Op, b.Seq, a.Rank, a.Host, state, a.Op, a.Seq, a.Line, a.Enter)
			}
			for _, rank := range b.Waiting {
				r.add(j.Run, b.Group, b.Op, b.Seq, rank, nil, "waiting", b.Op, nonNegative(b.Seq), b.Line, nonZero(b.Since))
			}
		}
	}
	return r
}
