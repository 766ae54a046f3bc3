package ks

const (
	lanes = 8    // counts that the kernel takes at once
	chunk = 1024 // windows of a block of rows that stay in the first-level cache
)

func (m *matrix) row(i int) []int32 { return m.counts[i*m.stride:][:m.stride] }

// fill computes the numerators, [row of block][column], of a block of neighbouring rows. Pairs of equal
// n compare counts alone, in the kernel; the others multiply. narrow is scratch.
func (m *matrix) fill(block []int, gaps []int64, narrow []int32) {
	n, first, columns := m.n, block[0], len(m.n)
	clear(narrow)
	full := len(block) == rowsAtOnce && n[first] == n[block[len(block)-1]]
	for from := 0; full && from < m.stride; from += chunk {
		width := min(chunk, m.stride-from)
		a := m.counts[first*m.stride+from:]
		for j := range columns {
			if n[j] != n[first] {
				continue
			}
			b := m.counts[j*m.stride+from:][:width]
			gap := narrow[j*rowsAtOnce:][:rowsAtOnce]
			raise4(gap[0:4], a, m.stride, b)
			raise4(gap[4:8], a[4*m.stride:], m.stride, b)
		}
	}
	for r, i := range block {
		for j := range columns {
			if full && n[i] == n[j] {
				gaps[r*columns+j] = int64(narrow[j*rowsAtOnce+r]) * n[i]
			} else {
				gaps[r*columns+j] = widestOf(m.row(i), m.row(j), n[i], n[j])
			}
		}
	}
}

// widestOf returns max_k |a[k]·m − b[k]·n|.
func widestOf(a, b []int32, n, m int64) int64 {
	up, down := int64(0), int64(0)
	b = b[:len(a)]
	for k, x := range a {
		d := int64(x)*m - int64(b[k])*n
		up, down = max(up, d), min(down, d)
	}
	return max(up, -down)
}

// raise4 raises gap[i] to the largest |a[i·stride + k] − b[k]| over k, for four
// rows of a: side by side, so that no maximum waits for the one before.
func raise4(gap, a []int32, stride int, b []int32) {
	n := len(b)
	a0, a1, a2, a3 := a[:n], a[stride:][:n], a[2*stride:][:n], a[3*stride:][:n]
	var up0, up1, up2, up3, down0, down1, down2, down3 int32
	for k, x := range b {
		d0, d1, d2, d3 := a0[k]-x, a1[k]-x, a2[k]-x, a3[k]-x
		up0, down0 = max(up0, d0), min(down0, d0)
		up1, down1 = max(up1, d1), min(down1, d1)
		up2, down2 = max(up2, d2), min(down2, d2)
		up3, down3 = max(up3, d3), min(down3, d3)
	}
	gap[0], gap[1] = max(gap[0], up0, -down0), max(gap[1], up1, -down1)
	gap[2], gap[3] = max(gap[2], up2, -down2), max(gap[3], up3, -down3)
}
