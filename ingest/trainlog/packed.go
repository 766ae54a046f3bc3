package trainlog

// packedNumbers is numbers in as few bytes as the furthest of them needs: first, and by how many units each is above least, or, of a sequence, each by as much more
// than the one before it.
type packedNumbers struct {
	n           int
	first       int64 // of a sequence, whose numbers each are by step more; what all are where it is 0
	step        int64
	least, unit int64 // of others; unit 0: a sequence
	bytes       []uint8
	shorts      []uint16
	words       []uint32
	whole       []int64
}

// units are what numbers are multiples of, ns: the digits that programs print.
var packedUnits = [...]int64{1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 10, 1}

// pack packs every number of a stride, from one on.
func pack(v []int64, from, stride int) packedNumbers {
	p := packedNumbers{n: len(v) / stride}
	if p.sequence(v, from, stride) {
		return p
	}
	unit, least, most, none := 0, int64(-1), int64(-1), false
	for i := from; i < len(v); i += stride {
		x := v[i]
		if x < 0 {
			none = none || x == notTimed
			if x != notTimed {
				return p.raw(v, from, stride)
			}
			continue
		}
		for x%packedUnits[unit] != 0 {
			unit++
		}
		if least < 0 || x < least {
			least = x
		}
		most = max(most, x)
	}
	p.unit, p.least = packedUnits[unit], least
	switch span := uint64(most-least)/uint64(p.unit) + 1; { // 0 is notTimed
	case span < 1<<8:
		p.bytes = packInto(make([]uint8, 0, p.n), v[from:], stride, &p)
	case span < 1<<16:
		p.shorts = packInto(make([]uint16, 0, p.n), v[from:], stride, &p)
	case span < 1<<32:
		p.words = packInto(make([]uint32, 0, p.n), v[from:], stride, &p)
	default:
		return p.raw(v, from, stride)
	}
	return p
}

// raw keeps numbers as they are.
func (p packedNumbers) raw(v []int64, from, stride int) packedNumbers {
	p = packedNumbers{n: p.n, unit: 1, whole: make([]int64, 0, p.n)}
	for i := from; i < len(v); i += stride {
		p.whole = append(p.whole, v[i])
	}
	return p
}

// sequence reports whether numbers follow each other by as much, and keeps that.
func (p *packedNumbers) sequence(v []int64, from, stride int) bool {
	if p.n == 0 {
		return true
	}
	p.first = v[from]
	if p.n > 1 {
		p.step = v[from+stride] - p.first
	}
	want := p.first
	for i := from; i < len(v); i += stride {
		if v[i] != want {
			p.first, p.step = 0, 0
			return false
		}
		want += p.step
	}
	return true
}

func packInto[T uint8 | uint16 | uint32](to []T, v []int64, stride int, p *packedNumbers) []T {
	for i := 0; i < len(v); i += stride {
		if v[i] == notTimed {
			to = append(to, 0)
		} else {
			to = append(to, T((v[i]-p.least)/p.unit+1))
		}
	}
	return to
}

// unpack writes numbers to every place of a stride, from one on.
func (p *packedNumbers) unpack(to []int64, from, stride int) {
	switch {
	case p.unit == 0:
		for i, x := from, p.first; i < len(to); i, x = i+stride, x+p.step {
			to[i] = x
		}
	case p.bytes != nil:
		unpackFrom(p.bytes, to[from:], stride, p)
	case p.shorts != nil:
		unpackFrom(p.shorts, to[from:], stride, p)
	case p.words != nil:
		unpackFrom(p.words, to[from:], stride, p)
	default:
		for i, x := range p.whole {
			to[from+i*stride] = x
		}
	}
}

func unpackFrom[T uint8 | uint16 | uint32](v []T, to []int64, stride int, p *packedNumbers) {
	for i, x := range v {
		if x == 0 {
			to[i*stride] = notTimed
		} else {
			to[i*stride] = p.least + int64(x-1)*p.unit
		}
	}
}
