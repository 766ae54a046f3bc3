package optrace

import (
	"fmt"
	"math"
	"slices"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// ReadParquet reads an operator trace out of a Parquet file. m may be nil.
func ReadParquet(in parquet.Input, m *Meta, lim ingest.Limits) (*operator.Trace, error) {
	lim = lim.OrDefault()
	rows := maxRows(lim, in.Size)
	f, err := parquet.Open(in, parquet.Limits{Footer: footerLimit(lim), Window: lim.Window, Held: lim.Scale(in.Size).Pending})
	if err == nil {
		err = f.Check(rows)
	}
	if err != nil {
		return nil, err
	}
	t := &table{where: func(row int) input.Pos {
		if row < 0 {
			return input.Pos{File: in.Name}
		}
		return input.Pos{File: in.Name, Inside: fmt.Sprintf("row %d", row)}
	}}
	at, err := newLayout(f.Names())
	if err != nil {
		return nil, input.At(t.where(-1), err)
	}
	if f.Rows() == 0 {
		return nil, input.At(t.where(-1), input.Bad(input.ErrEmpty, "no rows"))
	}
	r := &columns{f: f, t: t, at: at}
	if err := r.readAll(); err != nil {
		return nil, input.At(t.where(-1), err)
	}
	return t.opTrace(m)
}

// columns reads the columns of a Parquet file into a table.
type columns struct {
	f  *parquet.File
	t  *table
	at layout
}

func (r *columns) readAll() error {
	for f, at := range r.at.ints {
		if at < 0 {
			continue
		}
		if err := r.integers(field(f), at); err != nil {
			return err
		}
	}
	for w, at := range r.at.words {
		if at < 0 {
			continue
		}
		var err error
		if r.t.words[w], err = r.text(wordNames[w], at); err != nil {
			return err
		}
	}
	return r.times()
}

// text reads a column of strings.
func (r *columns) text(name string, column int) (dictionary, error) {
	v, err := r.f.Read(column)
	if err != nil {
		return dictionary{}, err
	}
	if typ := r.f.Columns()[column].Type; typ != parquet.TypeBytes {
		return dictionary{}, input.Bad(input.ErrType, "column %s is %s, expected a string", name, typ)
	}
	if err := r.refuseNulls(v, name); err != nil {
		return dictionary{}, err
	}
	d := dictionary{v.Strings, make([]int32, len(v.Bits))}
	for row, at := range v.Bits {
		d.at[row] = int32(at)
	}
	return d, nil
}

func (r *columns) refuseNulls(v parquet.Values, name string) error {
	if row := slices.Index(v.Null, true); row >= 0 {
		return input.At(r.t.where(row), input.Bad(input.ErrMissing, "%s is null", name))
	}
	return nil
}

// integers reads a column of integers; whole floats will do, as programs make
// them of integers when some are null.
func (r *columns) integers(f field, column int) error {
	v, err := r.f.Read(column)
	if err != nil {
		return err
	}
	name := fieldNames[f]
	if !f.optional() || f == fieldRank {
		if err := r.refuseNulls(v, name); err != nil {
			return err
		}
	}
	switch typ := r.f.Columns()[column].Type; typ {
	case parquet.TypeInt32, parquet.TypeInt64:
	case parquet.TypeFloat, parquet.TypeDouble:
		for row, b := range v.Bits {
			x := math.Float64frombits(uint64(b))
			if v.Null == nil || !v.Null[row] {
				if f.optional() && math.IsNaN(x) {
					x = -1
				}
				if x != math.Trunc(x) || math.Abs(x) > 1<<53 {
					return input.At(r.t.where(row), input.Bad(input.ErrType, "%s is %v, expected an integer", name, x))
				}
			}
			v.Bits[row] = int64(x)
		}
	default:
		return input.Bad(input.ErrType, "column %s is %s, expected integers", name, typ)
	}
	for row, null := range v.Null {
		if null {
			v.Bits[row] = -1
		}
	}
	r.t.ints[f] = v.Bits
	return nil
}

// times reads start and duration and finds out their unit.
func (r *columns) times() error {
	var both [2]parquet.Values
	var typ [2]parquet.Leaf
	for i, column := range []int{r.at.start, r.at.dur} {
		v, err := r.f.Read(column)
		if err == nil {
			err = r.refuseNulls(v, r.f.Columns()[column].Name)
		}
		if err != nil {
			return err
		}
		both[i], typ[i] = v, r.f.Columns()[column]
	}
	isFloat := func(c parquet.Leaf) bool { return c.Type == parquet.TypeFloat || c.Type == parquet.TypeDouble }
	switch {
	case typ[0].Type == parquet.TypeBytes || typ[1].Type == parquet.TypeBytes || isFloat(typ[0]) != isFloat(typ[1]):
		return input.Bad(input.ErrType, "columns %s and %s are %s and %s, expected numbers of one kind", startColumn, durationColumn, typ[0].Type, typ[1].Type)
	case isFloat(typ[0]):
		return r.fractions(both[0].Bits, both[1].Bits, typ)
	}
	r.t.unit = unit{how: typ[1].Type.String(), resolution: 1}
	for i, v := range both {
		if tick := max(1, typ[i].Tick); tick > 1 {
			r.t.unit.how, r.t.unit.resolution = fmt.Sprintf("from ticks of %d ns", tick), tick
			for row, x := range v.Bits {
				if x > math.MaxInt64/tick || x < math.MinInt64/tick {
					return input.At(r.t.where(row), input.Bad(input.ErrOverflow, "%d ticks of %d ns", x, tick))
				}
				v.Bits[row] = x * tick
			}
		}
	}
	r.t.start, r.t.dur = both[0].Bits, both[1].Bits
	return nil
}

// fractions turns floats into nanoseconds, in place.
func (r *columns) fractions(start, dur []int64, typ [2]parquet.Leaf) error {
	seconds, longest, latest := false, 0.0, 0.0
	for row := range start {
		s, d := math.Float64frombits(uint64(start[row])), math.Float64frombits(uint64(dur[row]))
		if !(math.Abs(s) <= math.MaxFloat64 && math.Abs(d) <= math.MaxFloat64) {
			return input.At(r.t.where(row), input.Bad(input.ErrNotFinite, "start %v, duration %v", s, d))
		}
		seconds = seconds || s != math.Trunc(s) || d != math.Trunc(d)
		longest, latest = max(longest, d), max(latest, s)
	}
	seconds = seconds || longest <= tooLong
	if seconds && longest > tooLong {
		return errUnits(longest)
	}
	r.t.unit = unit{seconds: seconds, how: typ[0].Type.String()}
	scale := 1.0
	if seconds {
		scale = 1e9
	}
	ulp := math.Nextafter(latest, math.Inf(1)) - latest
	if typ[0].Type == parquet.TypeFloat {
		ulp = float64(math.Nextafter32(float32(latest), math.MaxFloat32)) - latest
	}
	r.t.unit.resolution = int64(max(1, math.Round(ulp*scale)))
	for _, column := range [][]int64{start, dur} {
		for row, b := range column {
			ns, ok := toNanoseconds(math.Float64frombits(uint64(b)), int64(scale))
			if !ok {
				return input.At(r.t.where(row), input.Bad(input.ErrOverflow, "a time of %v", math.Float64frombits(uint64(b))))
			}
			column[row] = ns
		}
	}
	r.t.start, r.t.dur = start, dur
	return nil
}

// toNanoseconds rounds x, in units of so many nanoseconds, once: the whole
// part is exact, so that only the fraction is rounded.
func toNanoseconds(x float64, scale int64) (ns int64, ok bool) {
	if math.Abs(x) >= math.MaxInt64/float64(scale) {
		return 0, false
	}
	whole := math.Trunc(x)
	fraction := (x - whole) * float64(scale)
	return int64(whole)*scale + int64(math.Floor(fraction+0.5)), true
}
