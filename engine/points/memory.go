package points

// Memory is where the values of a division lie, and what is computed from them. One that is used
// for the stretches of a run, one after the other, spares most of what they would allocate. A nil
// Memory allocates all.
type Memory struct {
	block  []int64
	taken  int // also of what found no room in the block
	needed int // of the division before
}

// Take returns n values of any content.
func (m *Memory) Take(n int) []int64 {
	if m == nil {
		return make([]int64, n)
	}
	if m.taken == 0 && m.needed > len(m.block) {
		m.block = make([]int64, m.needed)
	}
	from := m.taken
	if m.taken += n; m.taken > len(m.block) {
		return make([]int64, n)
	}
	return m.block[from:m.taken:m.taken]
}

// Free takes back all that was taken: nothing may refer to it any more.
func (m *Memory) Free() { m.needed, m.taken = m.taken, 0 }
