package whatif

// The loops of a replay, over the lanes of one node.

// maxInto raises dst to src.
func maxInto(dst, src []int64) {
	src = src[:len(dst)]
	for i, d := range dst {
		dst[i] = max(d, src[i])
	}
}

// minInto lowers dst to src.
func minInto(dst, src []int64) {
	src = src[:len(dst)]
	for i, d := range dst {
		dst[i] = min(d, src[i])
	}
}

// maxOf sets dst to the larger of a and b.
func maxOf(dst, a, b []int64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = max(a[i], b[i])
	}
}

// maxBlocks sets every block of n neighbours to its maximum.
func maxBlocks(row []int64, n int) {
	for ; len(row) >= n; row = row[n:] {
		block := row[:n]
		top := block[0]
		for _, v := range block[1:] {
			top = max(top, v)
		}
		for i := range block {
			block[i] = top
		}
	}
}

func addRow(dst, src []int64) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] += src[i]
	}
}

func addConst(dst []int64, c int64) {
	for i := range dst {
		dst[i] += c
	}
}

// addChosen adds src where mask is −1, and c where it is 0.
func addChosen(dst, src, mask []int64, c int64) {
	src, mask = src[:len(dst)], mask[:len(dst)]
	for i := range dst {
		dst[i] += c + (src[i]-c)&mask[i]
	}
}
