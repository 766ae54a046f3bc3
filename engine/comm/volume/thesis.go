package volume

// ThesisBytes is the theory of Table 5.1 of the NCCL Trace Profiler (Heidelberg 2026), in bytes; its column is of 10⁹. It is found from
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
