package delay_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/latent"
	"github.com/sfstat/sfstat/engine/points"
)

// meeting returns a job of eight ranks that meet at the end of backward in steps 3, 7 …, and run on by themselves in between: 15 ms of data, 60 of
// forward, 20 of backward and, when they meet, a transfer of 40, and 10 of the optimizer. Rank 5 takes more in a stage in some steps, ns.
func meeting(steps, stage int, more func(step int) int64) *delay.Run {
	run := &delay.Run{}
	run.Stages, run.Ranks = stages, 8
	at := points.Point{Stage: 2, Evidence: points.Shown, Slope: -1, Low: -1, High: -1}
	run.Known, run.KnownMeetings = []points.Point{at}, points.Meetings{Point: at, Every: 4}
	clock := make([]int64, 8)
	for step := range steps {
		begun := slices.Clone(clock)
		for k, usual := range []int64{15, 60, 20, 10} {
			end, last := make([]int64, 8), int64(0)
			for r := range end {
				end[r] = clock[r] + usual*msec
				if r == 5 && k == stage {
					end[r] += more(step)
				}
				last = max(last, end[r])
			}
			for r := range end {
				if k == 2 && step%4 == 3 {
					end[r] = last + 40*msec
				}
				run.Durations = append(run.Durations, end[r]-clock[r])
			}
			clock = end
		}
		for r := range clock {
			run.Wall = append(run.Wall, clock[r]-begun[r])
		}
	}
	return run
}

// TestMeetingsByHand: of 240 steps the first four lie before the first interval; the others are 105 ms long, 10 of the transfer, and 12 more where
// rank 5 takes these, in whichever stage: the optimizer's last one is in the step before the interval's.
func TestMeetingsByHand(t *testing.T) {
	for stage := range 4 {
		if stage == 2 { // a rank that is late where they meet is late in three of four steps that anybody sees
			continue
		}
		r, err := delay.Analyze(meeting(240, stage, func(int) int64 { return 12 * msec }), delay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Every != 4 || r.Steps != 240 || r.Step != 127*msec || r.Whole != 236*127*msec {
			t.Errorf("stage %d: every %d of %d steps, each %d ns of %d", stage, r.Every, r.Steps, r.Step, r.Whole)
		}
		if len(r.Claims) != 1 {
			t.Fatalf("stage %d: %+v, want one claim", stage, r.Claims)
		}
		c := r.Claims[0]
		if c.Rank() != 5 || c.Size != 12*msec || c.Length != 127*msec || c.Charged() != 236*12*msec || len(c.Parts) != 1 || c.Parts[0].Size != 12*msec || math.Abs(c.Saves.Alone-12.0/127) > 1e-6 {
			t.Errorf("stage %d: %+v", stage, c)
		}
		if at := c.Steps; at.Count != 236 || at.Of != 236 || at.First != 4 || at.Last != 239 || at.Pattern != claim.Constant || c.Last != 59 || c.Every != 4 {
			t.Errorf("stage %d: %+v, last at %d, every %d", stage, at, c.Last, c.Every)
		}
		for _, l := range r.Limits {
			if l.Reported < 11*msec || l.Reported > 30*msec || l.MayHide > 0 != (l.Stage == 2) || l.Stage == 2 && l.MayHide != 10*msec {
				t.Errorf("stage %d: limits %+v", stage, l)
			}
		}
		d := points.Divide(&meeting(240, stage, func(int) int64 { return 12 * msec }).Steps, points.Gates{})
		if w := latent.FromDivision(d); len(w.Own) != 5 || w.Step != 127*msec || w.Own[stage][5]-w.Own[stage][4] != 12*msec {
			t.Errorf("stage %d: %d pieces of %d ns, the rank's own %d", stage, len(w.Own), w.Step, w.Own[stage][5])
		}
	}
}

// TestMeetingsNow: a rank that is late in every second interval, and steps that are longer on all ranks from one on.
func TestMeetingsNow(t *testing.T) {
	r, err := delay.Analyze(meeting(400, 1, func(step int) int64 { return int64(step / 4 % 2 * 60 * msec) }), delay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Claims[0]; c.Rank() != 5 || c.Size != 60*msec || c.Steps.Pattern != claim.Periodic || c.Steps.Period != 8 || c.Steps.First != 4 || c.Steps.Count != 200 || c.Steps.Incidents != 50 {
		t.Errorf("%+v", c)
	}
	two := meeting(400, 1, func(int) int64 { return 1000 }) // so that it is seen in which steps they meet
	for i := range two.Durations {
		if step := i / 32; step >= 200 && i/8%4 == 1 {
			two.Durations[i] += 30 * msec
			two.Wall[step*8+i%8] += 30 * msec
		}
	}
	if r, err = delay.Analyze(two, delay.Options{}); err != nil || len(r.Claims) != 1 {
		t.Fatalf("%v, %+v", err, r)
	}
	if c := r.Claims[0]; c.Cause != claim.Regression || c.Size != 30*msec || c.Steps.First != 200 || c.Steps.Count != 200 || c.Before != 60*msec || c.From != 90*msec {
		t.Errorf("%+v", c)
	}
}

// TestMeetingsJoin: a run that is looked at in stretches, which begin wherever they begin.
func TestMeetingsJoin(t *testing.T) {
	all := meeting(401, 1, func(int) int64 { return 12 * msec })
	var list []*delay.Stretch
	for _, at := range [][2]int{{0, 202}, {202, 401}} {
		part := *all
		part.Durations, part.Wall = all.Durations[at[0]*32:at[1]*32], all.Wall[at[0]*8:at[1]*8]
		list = append(list, delay.LookAt(points.Divide(&part.Steps, points.Gates{}), &part, delay.Options{}))
	}
	r := delay.Join(list, delay.Options{})
	if r.Steps != 401 || r.Step != 127*msec || len(r.Claims) != 1 {
		t.Fatalf("%d steps of %d ns, %+v", r.Steps, r.Step, r.Claims)
	}
	// Meetings of the second are those of the whole: steps 203, 207 …
	if c := r.Claims[0]; c.Size != 12*msec || c.Steps.First != 4 || c.Steps.Last != 399 || c.Steps.Count != 196+196 || c.Last != 98 || math.Abs(c.Saves.Alone-12.0/127) > 1e-6 {
		t.Errorf("%+v", c)
	}
}

// TestMeetingsMissing: rows that are missing now and then, which are the median of the other ranks', do not hide the meetings; an interval of which a
// rank recorded one step of four counts neither for nor against it.
func TestMeetingsMissing(t *testing.T) {
	run := meeting(240, 1, func(int) int64 { return 12 * msec })
	run.Known, run.KnownMeetings = nil, points.Meetings{}
	g := rand.New(rand.NewPCG(1, 1))
	run.Missing = make([]bool, 240*8)
	lose := func(step, rank int) {
		run.Missing[step*8+rank] = true
		for k := range 4 {
			row := run.Durations[(step*4+k)*8:][:8]
			row[rank] = 0
			others := slices.Clone(row)
			slices.Sort(others)
			row[rank] = others[4] // the median of seven
		}
	}
	for step := range 240 {
		for k := range 4 {
			for r := range 8 {
				if k != 2 || step%4 != 3 {
					run.Durations[(step*4+k)*8+r] += int64(1e6 * g.Float64())
				}
			}
		}
	}
	again := meetingsAgain(run)
	for step := 2; step < 200; step += 11 {
		lose(step, step%5)
	}
	for _, step := range []int{204, 205, 206} {
		lose(step, 5)
	}
	run.Wall = nil
	r, err := delay.Analyze(run, delay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Every != 4 || len(r.Claims) != 1 || r.Claims[0].Rank() != 5 || r.Claims[0].Steps.Of != 4*(again-1) {
		t.Errorf("every %d, %+v, want rank 5 in %d of %d intervals", r.Every, r.Claims, again-1, again)
	}
}

// meetingsAgain lets ranks leave backward of steps 3, 7 … together after their times were changed, and returns the number of intervals.
func meetingsAgain(run *delay.Run) (intervals int) {
	clock := make([]int64, 8)
	for step := range run.Len() {
		for k := range 4 {
			row, last := run.At(step, k), int64(0)
			for r := range row {
				if k == 2 && step%4 == 3 {
					row[r] = 20 * msec
				}
				last = max(last, clock[r]+row[r])
			}
			for r := range row {
				if k == 2 && step%4 == 3 {
					row[r] = last + 40*msec - clock[r]
				}
				clock[r] += row[r]
			}
		}
		if step%4 == 3 && step > 3 {
			intervals++
		}
	}
	return intervals
}
