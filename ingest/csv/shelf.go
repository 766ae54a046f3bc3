package csv

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/sfstat/sfstat/trace/input"
)

// shelf holds the rows of a window that exceeds the memory limit, compressed to about a sixth. Each run of rows is
// sorted by step, so that stretches of steps are taken in one pass, in whatever order rows came.
type shelf struct {
	coder   *zstd.Encoder
	decoder *zstd.Decoder
	runs    []*shelfRun
	rows    int   // that are on it
	held    int64 // bytes of all blocks
	raw     []byte
}

// shelfRun is a run of rows, and the block of it that was decoded.
type shelfRun struct {
	blocks []block
	rows   []groupRow
	times  []int64
	side   []sideCell // [row][channel]
	next   int        // of the rows
}

// block is rows, one column after the other as differences, compressed.
type block struct {
	data []byte
	rows int
}

// blockRows is how many rows a block has: when stretches are taken, one of each run is in memory.
const blockRows = 4096

func newShelf() (*shelf, error) {
	coder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	return &shelf{coder: coder, decoder: decoder}, err
}

// put moves the rows of a group to the shelf.
func (s *shelf) put(g *group) {
	S, C := len(g.layout.stages), len(g.side)
	side := make([]sideCell, C*len(g.rows))
	for c, cells := range g.side {
		for _, x := range cells {
			side[x.row*C+c] = sideCell{value: x.value, ready: x.ready, sampled: true}
		}
		g.side[c] = cells[:0]
	}
	order := make([]int, len(g.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.rows[a].step, g.rows[b].step) })
	run := &shelfRun{}
	for part := range slices.Chunk(order, blockRows) {
		b := s.raw[:0]
		number := func(of func(i int) int64) {
			last := int64(0)
			for _, i := range part {
				b = binary.AppendVarint(b, of(i)-last)
				last = of(i)
			}
		}
		number(func(i int) int64 { return g.rows[i].line })
		number(func(i int) int64 { return g.rows[i].step })
		number(func(i int) int64 { return g.rows[i].wall })
		number(func(i int) int64 { return int64(g.rows[i].rank) })
		number(func(i int) int64 { return int64(g.rows[i].meta) })
		for k := range S {
			number(func(i int) int64 { return g.times[i*S+k] })
		}
		for _, i := range part {
			for _, x := range side[i*C : (i+1)*C] {
				b = x.append(b)
			}
		}
		s.raw = b
		data := slices.Clip(s.coder.EncodeAll(b, nil))
		run.blocks = append(run.blocks, block{data, len(part)})
		s.held += int64(len(data))
	}
	s.runs = append(s.runs, run)
	s.rows += len(g.rows)
	g.rows, g.times = g.rows[:0], g.times[:0]
}

// append writes a cell: whether it has a sample, whether that is ready, and its value.
func (c sideCell) append(b []byte) []byte {
	switch {
	case !c.sampled:
		return append(b, 0)
	case c.ready:
		b = append(b, 2)
	default:
		b = append(b, 1)
	}
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(c.value))
}

// take moves the rows of the next steps to a group, which has none: whole steps, until there are as many rows as wanted.
func (s *shelf) take(g *group, wanted int) error {
	for {
		step, any := int64(0), false
		for _, run := range s.runs {
			if err := s.load(run, g); err != nil {
				return err
			}
			if run.next < len(run.rows) && (!any || run.rows[run.next].step < step) {
				step, any = run.rows[run.next].step, true
			}
		}
		if !any || len(g.rows) >= wanted {
			return nil
		}
		for _, run := range s.runs {
			for run.next < len(run.rows) && run.rows[run.next].step == step {
				run.give(g)
				s.rows--
				if err := s.load(run, g); err != nil {
					return err
				}
			}
		}
	}
}

// give appends the next row of a run to a group.
func (r *shelfRun) give(g *group) {
	i, S, C := r.next, len(g.layout.stages), len(g.side)
	for c, x := range r.side[i*C : (i+1)*C] {
		if x.sampled {
			g.side[c] = append(g.side[c], sample{len(g.rows), x.value, x.ready})
		}
	}
	g.rows = append(g.rows, r.rows[i])
	g.times = append(g.times, r.times[i*S:(i+1)*S]...)
	r.next++
}

// load decodes the next block of a run where there are no rows left of the one before.
func (s *shelf) load(r *shelfRun, g *group) error {
	if r.next < len(r.rows) || len(r.blocks) == 0 {
		return nil
	}
	now := r.blocks[0]
	r.blocks[0] = block{}
	r.blocks = r.blocks[1:]
	b, err := s.decoder.DecodeAll(now.data, s.raw[:0])
	if err != nil {
		return input.Bad(input.ErrFormat, "rows that were compressed in memory do not come back (%v): is the memory of this machine sound?", err)
	}
	s.raw = b
	S, C := len(g.layout.stages), len(g.side)
	r.next = 0
	r.rows = slices.Grow(r.rows[:0], now.rows)[:now.rows]
	r.times = slices.Grow(r.times[:0], S*now.rows)[:S*now.rows]
	r.side = slices.Grow(r.side[:0], C*now.rows)[:C*now.rows]
	number := func(to func(i int, v int64)) {
		last := int64(0)
		for i := range now.rows {
			d, n := binary.Varint(b)
			b = b[n:]
			last += d
			to(i, last)
		}
	}
	number(func(i int, v int64) { r.rows[i].line = v })
	number(func(i int, v int64) { r.rows[i].step = v })
	number(func(i int, v int64) { r.rows[i].wall = v })
	number(func(i int, v int64) { r.rows[i].rank = int32(v) })
	number(func(i int, v int64) { r.rows[i].meta = int32(v) })
	for k := range S {
		number(func(i int, v int64) { r.times[i*S+k] = v })
	}
	for i := range r.side {
		r.side[i] = sideCell{sampled: b[0] > 0, ready: b[0] == 2}
		b = b[1:]
		if r.side[i].sampled {
			r.side[i].value = math.Float64frombits(binary.LittleEndian.Uint64(b))
			b = b[8:]
		}
	}
	return nil
}
