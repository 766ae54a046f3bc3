package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/overhead"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/table"
)

// tell writes what came out, as Markdown.
func (s *settings) tell(out *bytes.Buffer, sizes []size, accounts []account) {
	fmt.Fprintf(out, "%s of a size, %d windows of %s under each arm, the first of them the warm-up.\n",
		table.Counted(s.runs, "run"), s.windows, table.Counted(s.steps, "step"))
	for i := range sizes {
		if z := &sizes[i]; z.tooLong {
			fmt.Fprintf(out, "\n%d ranks: did not end within %v.\n", z.ranks, s.limit)
		}
	}
	if len(accounts) > 0 {
		section(out, "Overhead of a step", overheadTable(accounts))
		section(out, "What recording takes", costTable(accounts, sizes, s.steps))
		section(out, "Rounds that something else disturbed", disturbedTable(sizes, runtime.NumCPU()))
		section(out, "Rounds beyond the fences of quartiles", outlierTable(accounts))
	}
	fmt.Fprintf(out, "\n**What this machine shows**\n\n")
	for _, line := range limits(s, sizes, machineOf(sizes)) {
		fmt.Fprintf(out, "- %s\n", line)
	}
}

func section(out *bytes.Buffer, title string, t *table.Table) {
	fmt.Fprintf(out, "\n**%s**\n\n", title)
	if len(t.Rows) == 0 {
		fmt.Fprintln(out, "None.")
		return
	}
	t.Markdown(out)
}

// overheadTable returns a table with a row for each size and arm: the bound over all rounds, and that without disturbed ones.
func overheadTable(accounts []account) *table.Table {
	t := &table.Table{Keys: 2, Columns: slices.Concat(table.Words("ranks", "arm"), table.Heads(table.Integer, "runs", "rounds"),
		table.Words("step"), table.Heads(table.Fine, "overhead", "at most"), table.Words("gate", "standing"),
		table.Heads(table.Integer, "disturbed"), table.Heads(table.Fine, "at most without them")),
		Caption: "At most: one-sided 95 % bound of the mean, a run a block."}
	var doubts []string
	for i := range accounts {
		a := &accounts[i]
		t.Add(append(table.Texts(fmt.Sprint(a.ranks), a.arm.String()), table.WholeCell(a.runs), table.WholeCell(len(a.rounds)),
			table.TextCell(fmt.Sprintf("%.1f ms", a.step/1e6)), table.RealCell(a.all.Estimate.Value), upperBound(a.all),
			table.TextCell(table.Percent(campaign.Gate(a.arm))), table.TextCell(a.all.Standing.String()),
			table.WholeCell(a.disturbed), upperBound(a.calm))...)
		for _, d := range a.all.Doubts {
			if text := doubtWords[d]; text != "" && !slices.Contains(doubts, text) {
				doubts = append(doubts, text)
			}
		}
	}
	if len(doubts) > 0 {
		t.Caption += " With care: " + strings.Join(doubts, "; ") + "."
	}
	return t
}

// doubtWords are what makes a bound doubtful.
var doubtWords = map[bootstrap.Doubt]string{
	bootstrap.OneBlock:      "one run has no bound",
	bootstrap.VeryFewBlocks: "fewer than 10 runs",
	bootstrap.FewBlocks:     "fewer than 20 runs",
	bootstrap.Skewed:        "a few runs lie far out on one side, and no bound of a mean holds then as often as it says",
}

// upperBound returns the one-sided upper bound, nothing where there is none.
func upperBound(a *overhead.Account) table.Cell {
	if a == nil || a.Interval == nil || math.IsInf(a.Interval.AtMost, 0) {
		return table.NoFigure()
	}
	return table.RealCell(a.Interval.AtMost)
}

// costTable returns a table with a row for each size and arm: where the time of recording goes.
func costTable(accounts []account, sizes []size, steps int) *table.Table {
	t := &table.Table{Keys: 2, Columns: table.Words("ranks", "arm", "training thread", "all threads", "stage call", "closing", "writing", "analysis"),
		Caption: "Per step and rank, with its share of the step: processor time beyond that of arm off; closing and writing windows by the clock, " +
			"on the slowest rank. Training waits for closing; writing, with the gather, is done beside it. " +
			"Analysis: of a window from file to verdict, and its share of the window."}
	for i := range accounts {
		a := &accounts[i]
		z := sizes[slices.IndexFunc(sizes, func(z size) bool { return z.ranks == a.ranks })]
		t.Add(table.Texts(fmt.Sprint(a.ranks), a.arm.String(), lengthAndShare(a.thread, a.step), lengthAndShare(a.process, a.step), fmt.Sprintf("%.0f ns", a.stageCall),
			lengthAndShare(a.closing, a.step), lengthAndShare(a.writing, a.step), lengthAndShare(float64(z.analysis), a.step*float64(steps)))...)
	}
	return t
}

// lengthAndShare returns a length and its share of another, both ns.
func lengthAndShare(ns, of float64) string {
	return fmt.Sprintf("%.0f µs (%s)", ns/1e3, table.FinePercent(ns/of))
}

// mostNamed bounds a list of rounds; the files have all.
const mostNamed = 40

// disturbedTable names the chunks that a measured cause disturbed.
func disturbedTable(sizes []size, cores int) *table.Table {
	t := &table.Table{Keys: 3, Columns: table.Words("run", "round", "arm", "cause")}
	named := make(map[string]bool)
	add := func(run string, round int, a campaign.Arm, c *campaign.Chunk) {
		key := fmt.Sprint(run, round, a)
		if found := causes(c, cores); len(found) > 0 && !named[key] {
			named[key] = true
			t.Add(table.Texts(run, fmt.Sprint(round), a.String(), strings.Join(found, "; "))...)
		}
	}
	for i := range sizes {
		for k := range sizes[i].rounds {
			r := &sizes[i].rounds[k]
			add(r.Run, r.Number, campaign.Off, &r.Base)
			add(r.Run, r.Number, r.Arm, &r.With)
		}
	}
	return cut(t)
}

// outlierTable names the rounds whose overhead lies far from those of others.
func outlierTable(accounts []account) *table.Table {
	t := &table.Table{Keys: 3, Columns: slices.Concat(table.Words("run", "round", "arm"), table.Heads(table.Fine, "overhead"))}
	for i := range accounts {
		for _, r := range accounts[i].outliers {
			t.Add(append(table.Texts(r.Run, fmt.Sprint(r.Number), r.Arm.String()), table.RealCell(r.With.Wall/r.Base.Wall-1))...)
		}
	}
	return cut(t)
}

// cut shortens a list and says by how much.
func cut(t *table.Table) *table.Table {
	if n := len(t.Rows); n > mostNamed {
		t.Rows = t.Rows[:mostNamed]
		t.Caption = fmt.Sprintf("And %d more, in campaigns/*/overhead/runs.", n-mostNamed)
	}
	return t
}

// machine is what a measurement was made on.
type machine struct {
	cores  int
	others float64 // median share of the processors that other processes used; NaN: not measured
	load   string  // of the last minute; "": not known
}

func machineOf(sizes []size) machine {
	m := machine{cores: runtime.NumCPU()}
	m.others = othersMedian(sizes, m.cores)
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.load, _, _ = strings.Cut(string(text), " ")
	}
	return m
}

// limits puts into words what the measurement can show and what it cannot.
func limits(s *settings, sizes []size, m machine) []string {
	largest := 0
	for i := range sizes {
		if len(sizes[i].rounds) > 0 {
			largest = max(largest, sizes[i].ranks)
		}
	}
	place := "every rank has one of its own."
	if largest > m.cores {
		place = fmt.Sprintf("with %d ranks %s share one, so a step waits for a processor too, and the bound is of such a machine.",
			largest, table.Number(float64(largest)/float64(m.cores)))
	}
	lines := []string{table.Counted(m.cores, "processor") + ": " + place}
	if math.IsNaN(m.others) {
		lines = append(lines, "What other processes used was not measured, so no round can be called disturbed by it.")
	} else {
		lines = append(lines, fmt.Sprintf("Other processes and the kernel used %s of the processors, median of all chunks; the load at the end was %s.",
			table.Percent(m.others), m.load))
	}
	if s.realtime {
		lines = append(lines, "Ranks have real-time priority: other processes do not interrupt them, as they would in production.")
	} else {
		lines = append(lines, "Ranks have ordinary priority: other processes interrupt them, in all arms alike.")
	}
	return append(lines,
		"The work of a stage is a sleep: what recording takes from work that fills processors, caches or memory does not show.",
		"Ranks use no GPU: device times are readings of the host's clock, and what CUDA events cost does not show.",
		"Gradients and packets go over Gloo on the loopback device: neither NCCL nor a network shows.")
}
