package volume

// Table51 are the rows of Table 5.1 of the NCCL Trace Profiler (Heidelberg 2026), which has 10 iterations of one small
// model on four ranks.
var Table51 = []Published{
	{Name: "DP=4", Model: thesisModel(16, Model{DP: 4}), Theory: 1.51, Observed: 1.59, Ratio: 1.05},
	{Name: "PP=4, edge", Model: thesisModel(16, Model{PP: 4}), Theory: 1.34, Observed: 2.50, Ratio: 1.87},
	{Name: "PP=4, mid", Model: thesisModel(16, Model{PP: 4}), Stage: 1, Theory: 2.68, Observed: 1.50, Ratio: 0.56},
	{Name: "TP=4", Model: thesisModel(8, Model{TP: 4}), Theory: 8.05, Observed: 22.15, Ratio: 2.75},
	{Name: "EP=4", Model: thesisModel(16, Model{DP: 4, EP: 4, MoELayers: 4}), Theory: 3.15, Observed: 13.03, Ratio: 4.10},
}

// Published is a row of the table: gigabytes of one rank.
type Published struct {
	Name                    string
	Model                   Model
	Stage                   int64
	Theory, Observed, Ratio float64
}

// thesisModel is §5.2 to 5.3.5 with the layout of m.
func thesisModel(layers int64, m Model) Model {
	m.Layers, m.Hidden, m.Sequence, m.Vocabulary = layers, 512, 1024, 50257
	m.Microbatch, m.GlobalBatch, m.ElementBytes, m.Iterations = 4, 64, 2, 10
	m, _ = m.Complete()
	return m
}

// ThesisBytes is the theory of that table, in bytes; its column is of 10⁹. It is found from
// the numbers: the thesis states the quantities, these formulas give all five values to the last digit.
//
//	DP  2(N−1)/N · 12h²·(layers without experts) · e        once an iteration; no embedding, biases, norms or layers with experts
//	PP  2 · b·s·h·e for each border                          of each microbatch, sent and received
//	TP  2(N−1)/N · 4 · layers · b·s·h·e · 1/N                of each microbatch
//	EP  (N−1)/N · 4 · layers with experts · k·b·s·h·e        of each microbatch
//
// DP, TP and EP are what leaves a rank, PP is both directions. TP's 1/N is either a message of one part or a
// quarter of the 16 microbatches that PP has: the value alone does not tell. Without it, and so by [Model.Flows], 32.21 GB leave
// a rank, or 21.47 GB as the log counts them.
func (m *Model) ThesisBytes(stage int64) float64 {
	ring := func(n int64) float64 { return 2 * float64(n-1) / float64(n) }
	h, times, a := float64(m.Hidden), float64(m.microbatches()), m.activations()
	total := ring(m.DP) * 12 * h * h * float64(m.Layers-m.MoELayers) * float64(m.ElementBytes)
	if m.PP > 1 {
		borders := 2.0
		if stage == 0 || stage == m.PP-1 {
			borders = 1
		}
		total += times * 2 * borders * a
	}
	total += times * ring(m.TP) * 4 * float64(m.Layers) * a / float64(m.TP)
	total += times * ring(m.EP) / 2 * 4 * float64(m.MoELayers) * float64(m.TopK) * a
	return total * float64(m.Iterations)
}
