package communication

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/comm/megatron"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace/nccl"
)

// amount is kernels and logged bytes of one operation; of messages those of the senders, whose kernels are SendRecv.
type amount struct {
	kernels int64
	bytes   float64
}

// amounts sums what all ranks of a job call, by operation.
func amounts(j *megatron.Job) map[nccl.Op]amount {
	out := map[nccl.Op]amount{}
	for rank := range j.Ranks() {
		for _, c := range j.Calls(rank) {
			op := c.Op
			a := out[op]
			if op == nccl.Recv { // its bytes are counted where they are sent
				op, c.Bytes = nccl.Send, 0
				a = out[op]
			}
			a.kernels, a.bytes = a.kernels+c.Kernels, a.bytes+float64(c.Times)*c.Bytes
			out[op] = a
		}
	}
	return out
}

// loggedBy returns what ranks log on average, in bytes; of messages those sent.
func (l *layout) loggedBy(ranks []int64) float64 {
	total := 0.0
	for _, rank := range ranks {
		for _, c := range l.Model.Calls(rank) {
			if c.Op != nccl.Recv {
				total += float64(c.Times) * c.Bytes
			}
		}
	}
	return total / float64(len(ranks))
}

// allOperations names the row of a layout's totals.
const allOperations = "all"

// LayoutTable makes chapter 5 of the thesis: kernels and bytes of its eight layouts, beside what Megatron-LM's calls are for the same
// jobs, and why cells differ, by row and column.
func LayoutTable() (*table.Table, map[[2]string]string) {
	t := &table.Table{Title: source + ", Figures 5.4 to 5.26. Kernels and bytes of eight layouts, all ranks in 10 iterations", Keys: 2,
		Columns: layoutColumns("layout", "operation", "calls", "calls %", "GB", "GB %"),
		Notes: []string{"Ours are the calls of Megatron-LM's training script (sfstat comm --theory megatron), as its source has them: calls are the kernels that they launch, bytes are as logged, those of calls on one rank included, which launch nothing. " +
			"Sends are SendRecv kernels and the bytes sent. GB are of 2³⁰ bytes. A dash: below 10 MB, or not stated. All iterations of fp16 are skipped (eval/campaign/communication/thesis.yaml says why)."}}
	why := map[[2]string]string{}
	for i := range published().Layouts {
		l := &published().Layouts[i]
		flows := amounts(&l.Model)
		var all amount
		for _, a := range flows {
			all.kernels, all.bytes = all.kernels+a.kernels, all.bytes+a.bytes
		}
		for _, o := range l.Operations {
			a := flows[o.op()]
			part, size := 100*float64(a.kernels)/float64(all.kernels), 100*a.bytes/all.bytes
			row := append(table.Texts(l.Name, o.op().String()), table.WholeCell(a.kernels), percentCell(part), gigabytes(a.bytes/observedGB), percentCell(size))
			t.Add(append(row, table.WholeCell(int(o.Calls)), percentCell(o.CallsPercent), gigabytes(o.GB), percentCell(o.GBPercent))...)
			key := l.Name + ", " + o.op().String()
			why[[2]string{key, "calls %"}] = l.countsReason(&o, part)
			why[[2]string{key, "GB %"}] = l.bytesReason(&o, size)
		}
		t.Add(append(append(table.Texts(l.Name, allOperations), table.WholeCell(all.kernels), table.NoFigure(), gigabytes(all.bytes/observedGB), table.NoFigure()),
			formatCount(l.Total.Calls), table.NoFigure(), gigabytes(l.Total.GB), table.NoFigure())...)
	}
	return t, why
}

// layoutColumns returns the heads of a layout table: of ours, and of the thesis.
func layoutColumns(layout, operation, calls, callsPart, size, sizePart string) (out []table.Column) {
	for _, prefix := range [...]string{"", "thesis: "} {
		if prefix == "" {
			out = append(out, table.Words(layout, operation)...)
		}
		out = append(out, table.Heads(table.Integer, prefix+calls)...)
		out = append(out, table.Words(prefix+callsPart, prefix+size, prefix+sizePart)...)
	}
	return out
}

// countsReason returns why a published percentage does not follow from the published counts, which are ours; "" where it does.
func (l *layout) countsReason(o *observed, ours float64) string {
	sum, percent := 0.0, 0.0
	for _, x := range l.Operations {
		sum, percent = sum+x.Calls, percent+x.CallsPercent
	}
	if got := table.Decimals(100*o.Calls/sum, 1); got != table.Decimals(ours, 1) || got == table.Decimals(o.CallsPercent, 1) {
		return ""
	}
	return fmt.Sprintf("The published counts give %s %%: %.0f of %.0f. The figure's percentages add up to %s.", table.Decimals(ours, 1), o.Calls, sum, table.Decimals(percent, 1))
}

// bytesReason returns why a published percentage is based on rounded bytes; "" where it is not.
func (l *layout) bytesReason(o *observed, ours float64) string {
	if got := 100 * o.GB / l.Total.GB; table.Decimals(got, 1) != table.Decimals(o.GBPercent, 1) {
		return ""
	}
	return fmt.Sprintf("The figure divides rounded bytes, %s ÷ %s; unrounded they give %s %%.", table.Decimals(o.GB, 2), table.Decimals(l.Total.GB, 2), table.Decimals(ours, 2))
}

// formatCount returns a count, or that there is none.
func formatCount(n float64) table.Cell {
	if n < 0 {
		return table.NoFigure()
	}
	return table.WholeCell(int(n))
}

// OperationTable makes the thesis's Tables 4.1 and 4.2: lines of the log and kernels of the trace, of each rank, beside those of
// Megatron-LM's calls.
func OperationTable() *table.Table {
	t := &table.Table{Title: source + ", Tables 4.1 and 4.2. Lines and kernels of Megatron-LM's calls, of each rank", Keys: 3,
		Columns: append(table.Words("table", "rank", "operation"), table.Heads(table.Integer, "log", "trace", "thesis: log", "thesis: trace")...),
		Notes: []string{"Lines that begin with the operation's name, as the thesis counts them. A second line says how a collective runs and is printed by the first rank of its group alone: with TP that is one rank in four, or two of them, and the pair of a first and a last stage is why rank 2 has 11 more. " +
			"The 20 AllReduces that run nowhere are gradients and losses of a data dimension of one rank, 10 on the first stage, where there is no loss. The 10 SendRecv too many are 1F1B's: the first send of an iteration goes alone, and so does the last receive.",
			"The text does not describe the models. Layers (4) and sequences in a microbatch (2 in Table 4.1) are read off one count each."}}
	for i := range published().Counted {
		c := &published().Counted[i]
		for rank, ops := range c.Ranks {
			lines, kernels := map[nccl.Op]int64{}, map[nccl.Op]int64{}
			for _, x := range c.Model.Calls(int64(rank)) {
				lines[x.Op] += x.Lines
				if x.Op.Message() {
					kernels[nccl.SendRecv] += x.Kernels
				} else {
					kernels[x.Op] += x.Kernels
				}
			}
			for op := nccl.AllGather; op <= nccl.SendRecv; op++ {
				if is, listed := ops[op.String()]; listed {
					t.Add(append(table.Texts(c.Table, fmt.Sprint(rank+1), op.String()), table.WholeCell(lines[op]), table.WholeCell(kernels[op]), table.WholeCell(is[0]), table.WholeCell(is[1]))...)
				}
			}
		}
	}
	return t
}

func percentCell(p float64) table.Cell {
	if p < 0 {
		return table.NoFigure()
	}
	return table.TextCell(table.Decimals(p, 1))
}

func gigabytes(g float64) table.Cell {
	if g < 0 {
		return table.NoFigure()
	}
	return table.TextCell(table.Decimals(g, 2))
}
