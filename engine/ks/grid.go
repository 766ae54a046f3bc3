package ks

// grid compares rows of cumulative counts, one count per occupied window.
type grid struct {
	m      *matrix
	stride int     // counts of a row, padded with zeros to a multiple of lanes
	counts []int32 // [worker of m][window]
}

const (
	lanes = 8    // counts that the kernel takes at once
	chunk = 1024 // windows of a block of rows that stay in the first-level cache
)

func newGrid(m *matrix) *grid {
	g := &grid{m: m, stride: (m.points + lanes - 1) / lanes * lanes}
	g.counts = make([]int32, len(m.workers)*g.stride)
	for i, w := range m.workers {
		row := g.row(i)
		for _, k := range m.done(w) {
			row[k]++
		}
		sum := int32(0)
		for k := range row[:m.points] {
			sum += row[k]
			row[k] = sum
		}
	}
	return g
}

func (g *grid) row(i int) []int32 { return g.counts[i*g.stride:][:g.stride] }

// fill computes the numerators of a block of neighbouring rows. Pairs of equal
// n compare counts alone, in the kernel; the others multiply.
func (g *grid) fill(block []int, gaps []int64, memory *spare) {
	n := g.m.n
	columns := len(n)
	first := block[0]
	if cap(memory.narrow) < columns*rowsAtOnce {
		memory.narrow = make([]int32, columns*rowsAtOnce)
	}
	narrow := memory.narrow[:columns*rowsAtOnce]
	clear(narrow)
	full := len(block) == rowsAtOnce && n[first] == n[block[len(block)-1]]
	for from := 0; full && from < g.stride; from += chunk {
		width := min(chunk, g.stride-from)
		a := g.counts[first*g.stride+from:]
		for j := range columns {
			if n[j] != n[first] {
				continue
			}
			b := g.counts[j*g.stride+from:][:width]
			gap := narrow[j*rowsAtOnce:][:rowsAtOnce]
			raise4(gap[0:4], a, g.stride, b)
			raise4(gap[4:8], a[4*g.stride:], g.stride, b)
		}
	}
	for r, i := range block {
		for j := range columns {
			switch {
			case n[i] != n[j]:
				gaps[r*columns+j] = widestOf(g.row(i), g.row(j), n[i], n[j])
			case full:
				gaps[r*columns+j] = int64(narrow[j*rowsAtOnce+r]) * n[i]
			default:
				gaps[r*columns+j] = int64(widest(g.row(i), g.row(j))) * n[i]
			}
		}
	}
}

// widest is max_k |a[k] − b[k]| of counts.
func widest(a, b []int32) int32 {
	up, down := int32(0), int32(0)
	b = b[:len(a)]
	for k, x := range a {
		up, down = max(up, x-b[k]), min(down, x-b[k])
	}
	return max(up, -down)
}

// widestOf is max_k |a[k]·m − b[k]·n|.
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
