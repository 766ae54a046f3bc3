package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

var keepTables = flag.String("tables", "", "a folder to write the tables of TestTablesOfPeople to")

// loop is a job as people time it: 8 ranks, 60 steps, all of which meet at the end of backward. Rank 3 takes 40 ms longer in
// data, and the others wait for it in backward.
type loop struct {
	ranks, steps int
	late         int // −1: nobody
	ms           [][][4]float64
}

var loopStages = []string{"data", "forward", "backward", "optim"}

func newLoop(late int) loop {
	l := loop{ranks: 8, steps: 60, late: late}
	r := rand.New(rand.NewPCG(7, uint64(late+1)))
	noise := func(ms float64) float64 { return ms * (1 + 0.02*r.NormFloat64()) }
	for range l.steps {
		step, arrive, latest := make([][4]float64, l.ranks), make([]float64, l.ranks), 0.0
		for k := range step {
			step[k] = [4]float64{noise(15), noise(60), noise(80), noise(10)}
			if k == late {
				step[k][0] += 40
			}
			arrive[k] = step[k][0] + step[k][1] + step[k][2]
			latest = max(latest, arrive[k])
		}
		for k := range step {
			step[k][2] += latest - arrive[k] + 20
		}
		l.ms = append(l.ms, step)
	}
	return l
}

// host returns where a rank runs, of two hosts with four GPUs each.
func (l loop) host(rank int) (name string, gpu int) { return fmt.Sprintf("node%d", rank/4), rank % 4 }

// sum returns the time of a step on a rank, ms.
func (l loop) sum(step, rank int) (ms float64) {
	for _, v := range l.ms[step][rank] {
		ms += v
	}
	return ms
}

// style is how a table is written.
type style struct {
	sep     string
	header  []string                            // of step, rank and the stages; nil: step, rank, data_ms …
	rank    func(rank int) string               // nil: the number
	step    func(step int) string               // nil: the number
	cell    func(ms float64, rank int) string   // nil: milliseconds
	extra   func(step, rank int) string         // cells behind
	skip    func(step, rank int) bool           // rows that are not there
	replace func(step, rank, stage int) *string // a cell of its own
}

func (l loop) table(s style) string {
	var b strings.Builder
	sep := s.sep
	if sep == "" {
		sep = ","
	}
	header := s.header
	if header == nil {
		header = []string{"step", "rank", "data_ms", "forward_ms", "backward_ms", "optim_ms"}
	}
	fmt.Fprintln(&b, strings.Join(header, sep))
	for step := range l.steps {
		for rank := range l.ranks {
			if s.skip != nil && s.skip(step, rank) {
				continue
			}
			cells := []string{strconv.Itoa(step)}
			if s.step != nil {
				cells[0] = s.step(step)
			}
			switch {
			case s.rank == nil:
				cells = append(cells, strconv.Itoa(rank))
			case s.rank(rank) != "":
				cells = append(cells, s.rank(rank))
			}
			for stage, v := range l.ms[step][rank] {
				cell := strconv.FormatFloat(v, 'f', 4, 64)
				if s.cell != nil {
					cell = s.cell(v, rank)
				}
				if s.replace != nil {
					if own := s.replace(step, rank, stage); own != nil {
						cell = *own
					}
				}
				cells = append(cells, cell)
			}
			if s.extra != nil {
				cells = append(cells, s.extra(step, rank))
			}
			fmt.Fprintln(&b, strings.Join(cells, sep))
		}
	}
	return b.String()
}

func comma(s string) string { return strings.ReplaceAll(s, ".", ",") }

// grouped writes a whole number with a mark between its thousands.
func grouped(v float64, mark string) string {
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + mark + s[i:]
	}
	return s
}

func fixed(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }

func utf16Of(text string, mark bool) string {
	var b strings.Builder
	if mark {
		b.WriteString("\xFF\xFE")
	}
	for _, u := range utf16.Encode([]rune(text)) {
		b.WriteByte(byte(u))
		b.WriteByte(byte(u >> 8))
	}
	return b.String()
}

// kindOfTable is a way to write the times of a job, and the answer: the rank that is late in data, or what the refusal says.
type kindOfTable struct {
	name  string
	files map[string]string
	says  string // of a refusal; "": it is read, and rank 3 is late in data
	note  string // of what is read
}

func one(text string) map[string]string { return map[string]string{"timings.csv": text} }

// kindsOfTables returns the tables of one job as people write them.
func kindsOfTables() []kindOfTable {
	l := newLoop(3)
	head := func(names ...string) []string { return names }
	stages := func(before []string, unit func(stage string) string) []string {
		out := slices.Clone(before)
		for _, s := range loopStages {
			out = append(out, unit(s))
		}
		return out
	}
	ids := []string{"step", "rank"}
	suffix := func(s string) func(string) string { return func(stage string) string { return stage + s } }
	value := func(s string) *string { return &s }
	at17 := func(text string) func(step, rank, stage int) *string {
		return func(step, rank, stage int) *string {
			if step == 17 && rank == 2 && stage == 0 {
				return value(text)
			}
			return nil
		}
	}
	seconds := func(ms float64, _ int) string { return fixed(ms/1e3, 6) }
	micros := func(ms float64, _ int) string { return fixed(ms*1e3, 0) }
	perRank := func(name func(rank int) string, s style) map[string]string {
		out := make(map[string]string)
		for rank := range l.ranks {
			own := s
			own.skip = func(_, r int) bool { return r != rank }
			out[name(rank)] = l.table(own)
		}
		return out
	}
	noRank := func(int) string { return "" }
	withoutRank := head("step", "data_ms", "forward_ms", "backward_ms", "optim_ms")
	melt := func(header string, row func(step, rank int, stage string, ms float64) string) string {
		var b strings.Builder
		fmt.Fprintln(&b, header)
		for stage, name := range loopStages {
			for step := range l.steps {
				for rank := range l.ranks {
					fmt.Fprintln(&b, row(step, rank, name, l.ms[step][rank][stage]))
				}
			}
		}
		return b.String()
	}
	byRank := func(step string, name func(rank int, stage string) []string) string {
		var b strings.Builder
		cells := []string{step}
		for rank := range l.ranks {
			for _, s := range loopStages {
				cells = append(cells, name(rank, s)...)
			}
		}
		fmt.Fprintln(&b, strings.Join(cells, ","))
		n := len(name(0, "data"))
		for step := range l.steps {
			cells = []string{strconv.Itoa(step)}
			for rank := range l.ranks {
				for _, v := range l.ms[step][rank] {
					for range n {
						cells = append(cells, fixed(v, 4))
					}
				}
			}
			fmt.Fprintln(&b, strings.Join(cells, ","))
		}
		return b.String()
	}
	board := func(name func(rank int, stage string) string) map[string]string {
		out := make(map[string]string)
		for rank := range l.ranks {
			for stage, s := range loopStages {
				var b strings.Builder
				fmt.Fprintln(&b, "Wall time,Step,Value")
				for step := range l.steps {
					fmt.Fprintf(&b, "%.4f,%d,%.6f\n", 1795332777.1+0.225*float64(step), step, l.ms[step][rank][stage])
				}
				out[name(rank, s)] = b.String()
			}
		}
		return out
	}
	twoHeaders := func() string {
		var b strings.Builder
		first, second := []string{""}, []string{"rank"}
		for _, s := range loopStages {
			for rank := range l.ranks {
				first, second = append(first, s+"_ms"), append(second, strconv.Itoa(rank))
			}
		}
		fmt.Fprintf(&b, "%s\n%s\nstep%s\n", strings.Join(first, ","), strings.Join(second, ","), strings.Repeat(",", len(first)-1))
		for step := range l.steps {
			cells := []string{strconv.Itoa(step)}
			for stage := range loopStages {
				for rank := range l.ranks {
					cells = append(cells, fixed(l.ms[step][rank][stage], 4))
				}
			}
			fmt.Fprintln(&b, strings.Join(cells, ","))
		}
		return b.String()
	}
	objects := func() string {
		var b strings.Builder
		for step := range l.steps {
			for rank := range l.ranks {
				v := l.ms[step][rank]
				fmt.Fprintf(&b, `{"step": %d, "rank": %d, "data_ms": %.4f, "forward_ms": %.4f, "backward_ms": %.4f, "optim_ms": %.4f, "loss": 2.5}`+"\n", step, rank, v[0], v[1], v[2], v[3])
			}
		}
		return b.String()
	}
	clock := func(perStage bool) string {
		var b strings.Builder
		fmt.Fprintln(&b, "step,rank,data_s,forward_s,backward_s,optim_s,elapsed_s")
		var totals [8][5]float64
		for step := range l.steps {
			for rank := range l.ranks {
				cells := []string{strconv.Itoa(step), strconv.Itoa(rank)}
				for stage, v := range l.ms[step][rank] {
					totals[rank][stage] += v
					totals[rank][4] += v
					if perStage {
						v = totals[rank][stage]
					}
					cells = append(cells, fixed(v/1e3, 6))
				}
				fmt.Fprintln(&b, strings.Join(append(cells, fixed(totals[rank][4]/1e3, 6)), ","))
			}
		}
		return b.String()
	}

	return []kindOfTable{
		{name: "comma", files: one(l.table(style{}))},
		{name: "semicolon", files: one(l.table(style{sep: ";"}))},
		{name: "pipe", files: one(l.table(style{sep: "|"}))},
		{name: "tab", files: one(l.table(style{sep: "\t"}))},
		{name: "pipe-padded", files: one(l.table(style{sep: " | "}))},
		{name: "markdown", files: one(func() string {
			lines := strings.Split(strings.TrimSpace(l.table(style{sep: " | "})), "\n")
			for i := range lines {
				lines[i] = "| " + lines[i] + " |"
			}
			return strings.Join(slices.Insert(lines, 1, "|---|---|---|---|---|---|"), "\n") + "\n"
		}())},
		{name: "decimal-comma", files: one(l.table(style{sep: ";", cell: func(ms float64, _ int) string { return comma(fixed(ms, 6)) }}))},
		{name: "decimal-comma-tab", files: one(l.table(style{sep: "\t", cell: func(ms float64, _ int) string { return comma(fixed(ms, 3)) }}))},
		{name: "decimal-comma-quoted", files: one(l.table(style{cell: func(ms float64, _ int) string { return `"` + comma(fixed(ms, 2)) + `"` }}))},
		{name: "thousands-comma-quoted", files: one(l.table(style{header: stages(ids, suffix("_us")), cell: func(ms float64, _ int) string { return `"` + grouped(ms*1e3, ",") + `"` }}))},
		{name: "thousands-point", files: one(l.table(style{sep: ";", header: stages(ids, suffix("_us")), cell: func(ms float64, _ int) string { return grouped(ms*1e3, ".") + ",25" }}))},
		{name: "thousands-blank", files: one(l.table(style{sep: ";", header: stages(ids, suffix("_us")), cell: func(ms float64, _ int) string { return grouped(ms*1e3, " ") }}))},
		{name: "thousands-underscore", files: one(l.table(style{header: stages(ids, suffix("_ns")), cell: func(ms float64, _ int) string { return grouped(ms*1e6, "_") }}))},
		{name: "quoted", files: one(l.table(style{header: head(`"step"`, `"rank"`, `"data_ms"`, `"forward_ms"`, `"backward_ms"`, `"optim_ms"`), cell: func(ms float64, _ int) string { return `"` + fixed(ms, 3) + `"` }}))},
		{name: "single-quotes", files: one(l.table(style{header: head(`'step'`, `'rank'`, `'data_ms'`, `'forward_ms'`, `'backward_ms'`, `'optim_ms'`), cell: func(ms float64, _ int) string { return `'` + fixed(ms, 3) + `'` }}))},
		{name: "comments", files: one("# job 42 on 8 GPUs\n# times in ms\n" + l.table(style{}))},
		{name: "comments-between", files: one(strings.Replace(l.table(style{}), "\n30,0,", "\n# restarted the loader\n30,0,", 1))},
		{name: "title-line", files: one("Timings of job 42\n\n" + l.table(style{}))},
		{name: "separator-line", files: one("sep=;\n" + l.table(style{sep: ";"}))},
		{name: "blank-header", files: one(l.table(style{header: head("step", "rank", "data_ms", "forward_ms", "backward_ms", "optim_ms", ""), extra: func(int, int) string { return "" }}))},
		{name: "trailing-separator", files: one(strings.ReplaceAll(l.table(style{}), "\n", ",\n"))},
		{name: "rows-with-one-more", files: one(l.table(style{extra: func(int, int) string { return "" }}))},
		{name: "bom", files: one("\xEF\xBB\xBF" + l.table(style{}))},
		{name: "utf-16", files: one(utf16Of(l.table(style{}), true))},
		{name: "utf-16-no-mark", files: one(utf16Of(l.table(style{}), false))},
		{name: "crlf", files: one(strings.ReplaceAll(l.table(style{}), "\n", "\r\n"))},
		{name: "cr", files: one(strings.ReplaceAll(l.table(style{}), "\n", "\r"))},
		{name: "nan", files: one(l.table(style{replace: at17("NaN")})), note: "step 17, rank 2, data"},
		{name: "null", files: one(l.table(style{replace: at17("null")})), note: "step 17, rank 2, data"},
		{name: "none", files: one(l.table(style{replace: at17("None")})), note: "step 17, rank 2, data"},
		{name: "na", files: one(l.table(style{replace: at17("N/A")})), note: "step 17, rank 2, data"},
		{name: "dash", files: one(l.table(style{replace: at17("-")})), note: "step 17, rank 2, data"},
		{name: "empty-cell", files: one(l.table(style{replace: at17("")})), note: "step 17, rank 2, data"},
		{name: "unit-parentheses", files: one(l.table(style{header: stages(ids, suffix(" (s)")), cell: seconds}))},
		{name: "unit-brackets", files: one(l.table(style{header: stages(ids, suffix(" [ms]"))}))},
		{name: "unit-us", files: one(l.table(style{header: stages(ids, suffix("_us")), cell: micros}))},
		{name: "unit-seconds", files: one(l.table(style{header: stages(ids, suffix("_seconds")), cell: seconds}))},
		{name: "unit-word", files: one(l.table(style{header: stages(ids, suffix(" seconds")), cell: seconds}))},
		{name: "unit-slash", files: one(l.table(style{header: stages(ids, suffix("/ms"))}))},
		{name: "unit-point", files: one(l.table(style{header: stages(ids, suffix(".ms"))}))},
		{name: "unit-camel", files: one(l.table(style{header: stages(ids, suffix("Ms"))}))},
		{name: "unit-milliseconds", files: one(l.table(style{header: stages(ids, suffix("_milliseconds"))}))},
		{name: "prefix", files: one(l.table(style{header: head("step", "rank", "time_data_ms", "time_forward_ms", "time_backward_ms", "time_optim_ms")}))},
		{name: "mlflow-sorted", files: one(func() string {
			rows := strings.Split(strings.TrimSpace(melt("run_id,key,value,timestamp,step", func(step, rank int, stage string, ms float64) string {
				return fmt.Sprintf("9f1c2e,rank%d/perf/%s_ms,%.4f,%d,%d", rank, stage, ms, 1795332777000+225*step, step)
			})), "\n")
			slices.SortStableFunc(rows[1:], func(a, b string) int { return strings.Compare(strings.Split(a, ",")[1], strings.Split(b, ",")[1]) })
			return strings.Join(rows, "\n") + "\n"
		}())},
		{name: "unit-time", files: one(l.table(style{header: stages(ids, suffix("_ms_time"))}))},
		{name: "unit-row", files: one(strings.Replace(l.table(style{header: stages(ids, suffix(""))}), "\n", "\n,,ms,ms,ms,ms\n", 1))},
		{name: "unit-cells", files: one(l.table(style{header: stages(ids, suffix("")), cell: func(ms float64, _ int) string { return fixed(ms, 1) + "ms" }}))},
		{name: "unit-cells-blank", files: one(l.table(style{header: stages(ids, suffix("")), cell: func(ms float64, _ int) string { return fixed(ms, 2) + " ms" }}))},
		{name: "unit-cells-mixed", files: one(l.table(style{header: stages(ids, suffix("")), cell: func(ms float64, rank int) string {
			return []string{fixed(ms, 2) + "ms", fixed(ms/1e3, 5) + "s", fixed(ms*1e3, 0) + "µs"}[rank%3]
		}}))},
		{name: "timedelta", files: one(l.table(style{header: stages(ids, suffix("")), cell: func(ms float64, _ int) string { return "0 days 00:00:" + fmt.Sprintf("%09.6f", ms/1e3) }}))},
		{name: "timedelta-clock", files: one(l.table(style{header: stages(ids, suffix("")), cell: func(ms float64, _ int) string { return "0:00:" + fmt.Sprintf("%09.6f", ms/1e3) }}))},
		{name: "seconds-unsaid", files: one(l.table(style{header: stages(ids, suffix("")), cell: seconds})), note: "--unit"},
		{name: "milliseconds-unsaid", files: one(l.table(style{header: stages(ids, suffix(""))})), note: "--unit"},
		{name: "whole-milliseconds-unsaid", files: one(l.table(style{header: stages(ids, suffix("")), cell: func(ms float64, _ int) string { return fixed(ms, 0) }})), note: "--unit"},
		{name: "exponents", files: one(l.table(style{header: stages(ids, suffix("_s")), cell: func(ms float64, _ int) string { return strconv.FormatFloat(ms/1e3, 'e', 5, 64) }}))},
		{name: "rank-cuda", files: one(l.table(style{rank: func(r int) string { return fmt.Sprintf("cuda:%d", r) }}))},
		{name: "rank-gpu", files: one(l.table(style{rank: func(r int) string { return fmt.Sprintf("GPU%d", r) }}))},
		{name: "rank-r", files: one(l.table(style{rank: func(r int) string { return fmt.Sprintf("R%d", r) }}))},
		{name: "rank-word", files: one(l.table(style{rank: func(r int) string { return fmt.Sprintf("rank_%d", r) }}))},
		{name: "rank-of", files: one(l.table(style{rank: func(r int) string { return fmt.Sprintf("%d/8", r) }}))},
		{name: "rank-brackets", files: one(l.table(style{rank: func(r int) string { return fmt.Sprintf("[rank%d]", r) }}))},
		{name: "rank-host-gpu", files: one(l.table(style{rank: func(r int) string { h, g := l.host(r); return fmt.Sprintf("%s/gpu%d", h, g) }}))},
		{name: "rank-host-colon", files: one(l.table(style{rank: func(r int) string { h, g := l.host(r); return fmt.Sprintf("%s:%d", h, g) }}))},
		{name: "host-local-rank", files: one(l.table(style{header: stages([]string{"step", "host", "local_rank"}, suffix("_ms")), rank: func(r int) string { h, g := l.host(r); return fmt.Sprintf("%s,%d", h, g) }}))},
		{name: "node-gpu", files: one(l.table(style{header: stages([]string{"step", "node", "gpu"}, suffix("_ms")), rank: func(r int) string { h, g := l.host(r); return fmt.Sprintf("%s,cuda:%d", h, g) }}))},
		{name: "local-rank-alone", files: one(l.table(style{header: stages([]string{"step", "local_rank"}, suffix("_ms"))}))},
		{name: "gpu", files: one(l.table(style{header: stages([]string{"step", "gpu"}, suffix("_ms"))}))},
		{name: "proc", files: one(l.table(style{header: stages([]string{"step", "proc"}, suffix("_ms"))}))},
		{name: "worker", files: one(l.table(style{header: stages([]string{"iter", "worker"}, suffix("_ms"))}))},
		{name: "process-index", files: one(l.table(style{header: stages([]string{"step", "process_index"}, suffix("_ms"))}))},
		{name: "lightning", files: one(l.table(style{header: stages([]string{"trainer/global_step", "rank"}, suffix("_ms"))}))},
		{name: "batch-idx", files: one(l.table(style{header: stages([]string{"batch_idx", "rank"}, suffix("_ms"))}))},
		{name: "batch-idx-epoch", files: one(func() string {
			var b strings.Builder
			fmt.Fprintln(&b, "epoch,batch_idx,rank,data_ms,forward_ms,backward_ms,optim_ms")
			for step := range l.steps {
				for rank := range l.ranks {
					v := l.ms[step][rank]
					fmt.Fprintf(&b, "%d,%d,%d,%.3f,%.3f,%.3f,%.3f\n", step/20, step%20, rank, v[0], v[1], v[2], v[3])
				}
			}
			return b.String()
		}())},
		{name: "step-words", files: one(l.table(style{header: stages([]string{"Global Step", "Global Rank"}, suffix("_ms"))}))},
		{name: "step-of", files: one(l.table(style{step: func(s int) string { return fmt.Sprintf("%d/60", s) }}))},
		{name: "wandb-export", files: one(byRank("Step", func(rank int, stage string) []string { return []string{fmt.Sprintf("rank%d - %s_ms", rank, stage)} }))},
		{name: "wandb-export-bounds", files: one(byRank("Step", func(rank int, stage string) []string {
			n := fmt.Sprintf(`"run-rank%d - timing/%s_ms"`, rank, stage)
			return []string{n, n[:len(n)-1] + `__MIN"`, n[:len(n)-1] + `__MAX"`}
		}))},
		{name: "wandb-prefix", files: one(byRank("_step", func(rank int, stage string) []string { return []string{fmt.Sprintf("rank_%d/%s_ms", rank, stage)} }))},
		{name: "ranks-as-columns", files: one(byRank("step", func(rank int, stage string) []string { return []string{fmt.Sprintf("%s_ms_rank%d", stage, rank)} }))},
		{name: "ranks-as-tuples", files: one(byRank("step", func(rank int, stage string) []string { return []string{fmt.Sprintf(`"('%s_ms', %d)"`, stage, rank)} }))},
		{name: "ranks-as-second-header", files: one(twoHeaders())},
		{name: "melt", files: one(melt("step,rank,variable,value", func(step, rank int, stage string, ms float64) string {
			return fmt.Sprintf("%d,%d,%s_ms,%.4f", step, rank, stage, ms)
		}))},
		{name: "long-seconds", files: one(melt("step,rank,stage,seconds", func(step, rank int, stage string, ms float64) string {
			return fmt.Sprintf("%d,%d,%s,%.6f", step, rank, stage, ms/1e3)
		}))},
		{name: "long-unit-column", files: one(melt("step,rank,metric,value,unit", func(step, rank int, stage string, ms float64) string {
			return fmt.Sprintf("%d,%d,%s,%.6f,s", step, rank, stage, ms/1e3)
		}))},
		{name: "mlflow", files: one(melt("run_id,key,value,timestamp,step", func(step, rank int, stage string, ms float64) string {
			return fmt.Sprintf("9f1c2e,rank%d/%s_ms,%.4f,%d,%d", rank, stage, ms, 1795332777000+225*step, step)
		}))},
		{name: "mlflow-runs", files: one(melt("Run,Run ID,metric,step,timestamp,value", func(step, rank int, stage string, ms float64) string {
			return fmt.Sprintf("rank%d,%032x,%s_ms,%d,%d,%.4f", rank, 77+rank, stage, step, 1795332777000+225*step, ms)
		}))},
		{name: "tensorboard", files: board(func(rank int, stage string) string { return fmt.Sprintf("run-rank%d-tag-%s_ms.csv", rank, stage) })},
		{name: "tensorboard-folders", files: board(func(rank int, stage string) string { return fmt.Sprintf("rank%d/time_%s_ms.csv", rank, stage) })},
		{name: "file-per-rank", files: perRank(func(r int) string { return fmt.Sprintf("timings_%d.csv", r) }, style{})},
		{name: "file-per-rank-by-name", files: perRank(func(r int) string { return fmt.Sprintf("rank%d.csv", r) }, style{header: withoutRank, rank: noRank})},
		{name: "file-per-rank-number", files: perRank(func(r int) string { return fmt.Sprintf("times.%d.csv", r) }, style{header: withoutRank, rank: noRank})},
		{name: "folder-per-rank", files: perRank(func(r int) string { return fmt.Sprintf("rank_%d/times.csv", r) }, style{header: withoutRank, rank: noRank})},
		{name: "folder-per-host", files: perRank(func(r int) string { h, g := l.host(r); return fmt.Sprintf("%s/gpu%d.csv", h, g) }, style{header: withoutRank, rank: noRank})},
		{name: "file-per-host-gpu", files: perRank(func(r int) string { h, g := l.host(r); return fmt.Sprintf("%s_gpu%d.csv", h, g) }, style{header: withoutRank, rank: noRank})},
		{name: "json-lines", files: map[string]string{"timings.jsonl": objects()}},
		{name: "total", files: one(l.table(style{header: head("step", "rank", "data_ms", "forward_ms", "backward_ms", "optim_ms", "step_ms"), extra: func(s, r int) string { return fixed(l.sum(s, r), 4) }}))},
		{name: "contained", files: one(l.table(style{header: head("step", "rank", "data_ms", "forward_ms", "backward_ms", "optim_ms", "train_ms"), extra: func(s, r int) string { return fixed(l.sum(s, r)-l.ms[s][r][0], 4) }}))},
		{name: "running-total", files: one(clock(false)), note: "running total"},
		{name: "running-totals", files: one(clock(true)), note: "running total"},
		{name: "epoch-seconds", files: one(l.table(style{header: head("step", "rank", "data_ms", "forward_ms", "backward_ms", "optim_ms", "time"), extra: func(s, _ int) string { return fixed(1795332777.1+0.225*float64(s), 4) }}))},
		{name: "epoch-ns", files: one(l.table(style{header: head("step", "rank", "data_ms", "forward_ms", "backward_ms", "optim_ms", "when"), extra: func(s, _ int) string { return fmt.Sprintf("17953327770890%05d", s) }}))},
		{name: "date", files: one(l.table(style{header: head("step", "rank", "data_ms", "forward_ms", "backward_ms", "optim_ms", "logged_at"), extra: func(s, _ int) string { return fmt.Sprintf("2026-11-02T10:00:%02d.5Z", s) }}))},
		{name: "text-column", files: one(l.table(style{header: head("step", "rank", "data_ms", "forward_ms", "backward_ms", "optim_ms", "remark"), extra: func(s, _ int) string { return []string{"ok", "slow"}[s%2] }}))},
		{name: "loss-and-rate", files: one(l.table(style{header: head("step", "rank", "data_ms", "forward_ms", "backward_ms", "optim_ms", "train/loss", "img/s", "temp_c", "gpu_util_%"), extra: func(s, _ int) string { return fmt.Sprintf("%.3f,812.5,71,98", 9-0.1*float64(s)) }}))},
		{name: "empty-cell-text", files: one(l.table(style{replace: at17("15.0 ms?")})), says: "timings.csv:140[column data_ms]"},
		{name: "no-step", files: one(l.table(style{header: stages([]string{"shard", "rank"}, suffix("_ms"))})), says: "no column of the step among"},
		{name: "rank-in-seconds", files: one(l.table(style{header: stages(ids, suffix("")), cell: func(ms float64, rank int) string {
			if rank == 5 {
				return fixed(ms/1e3, 6)
			}
			return fixed(ms, 4)
		}})), says: "rank 5"},
		{name: "rank-in-microseconds", files: one(l.table(style{cell: func(ms float64, rank int) string {
			if rank == 5 {
				return fixed(ms*1e3, 1)
			}
			return fixed(ms, 4)
		}})), says: "rank 5"},
		{name: "file-in-microseconds", files: func() map[string]string {
			out := perRank(func(r int) string { return fmt.Sprintf("rank%d.csv", r) }, style{header: withoutRank, rank: noRank})
			other := style{header: withoutRank, rank: noRank, cell: micros, skip: func(_, r int) bool { return r != 5 }}
			out["rank5.csv"] = l.table(other)
			return out
		}(), says: "rank 5"},
		{name: "files-of-two-units", files: func() map[string]string {
			out := perRank(func(r int) string { return fmt.Sprintf("rank%d.csv", r) }, style{header: withoutRank, rank: noRank})
			out["rank5.csv"] = l.table(style{header: head("step", "data_us", "forward_us", "backward_us", "optim_us"), rank: noRank, cell: micros, skip: func(_, r int) bool { return r != 5 }})
			return out
		}()},
		{name: "column-in-seconds", files: one(l.table(style{header: stages(ids, suffix("")), replace: func(step, rank, stage int) *string {
			if rank == 5 && stage == 1 {
				return value(fixed(l.ms[step][rank][stage]/1e3, 6))
			}
			return nil
		}})), says: "rank 5"},
	}
}

// write writes a table to a folder and returns the input.
func (k kindOfTable) write(t *testing.T, folder string) string {
	t.Helper()
	dir := filepath.Join(folder, k.name)
	for name, text := range k.files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if len(k.files) == 1 {
			return path
		}
	}
	return dir
}

// TestTablesOfPeople: one job, written down in many ways, has one answer; a table that leaves a question open is refused with the question.
func TestTablesOfPeople(t *testing.T) {
	folder := t.TempDir()
	if *keepTables != "" {
		folder = *keepTables
	}
	for _, k := range kindsOfTables() {
		t.Run(k.name, func(t *testing.T) {
			path := k.write(t, folder)
			code, out, stderr := runArgs(t, nil, "diagnose", path, "--format", "json")
			if k.says != "" {
				if code != exitBadInput || !strings.Contains(stderr, k.says) {
					t.Fatalf("exit code %d, %q, expected a refusal with %q", code, stderr, k.says)
				}
				return
			}
			var v judged
			if err := json.Unmarshal([]byte(out), &v); code != 0 || err != nil {
				t.Fatalf("exit code %d: %v %s %s", code, err, stderr, out)
			}
			if len(v.Findings) == 0 || v.Findings[0].Rank == nil || *v.Findings[0].Rank != 3 || v.Findings[0].Stage == nil || !strings.HasSuffix(*v.Findings[0].Stage, "data") {
				t.Errorf("%+v, expected rank 3 in data", v)
			}
			if k.note != "" && !strings.Contains(out, k.note) {
				t.Errorf("no word of %q: %s", k.note, out)
			}
		})
	}
}
