package packet

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/sfstat/sfstat/trace"
)

// Writer writes windows as packets, one line per rank. Read again, they give
// the same windows, but for notes that only the first reading could know (a
// truncated input) and for side channel values that are not ready and not
// finite.
type Writer struct {
	w   io.Writer
	buf []byte
}

// NewWriter writes to w, one Write per line.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes the packets of all ranks of the window, by rank. It refuses a
// window that could not be read again, before writing any of it.
func (w *Writer) Write(win *trace.Window) error {
	win = win.Consecutive()
	if err := win.Storable(); err != nil {
		return err
	}
	for r := range win.Ranks {
		w.buf = append(appendPacket(w.buf[:0], win.Part(r)), '\n')
		if _, err := w.w.Write(w.buf); err != nil {
			return err
		}
	}
	return nil
}

// appendPacket appends the packet of p, without a line end. The part must be valid.
func appendPacket(dst []byte, p *trace.Part) []byte {
	dst = append(dst, `{"schema":"`+Schema+`","run":`...)
	dst = quote(dst, p.Run)
	dst = number(dst, `,"window":`, p.Index)
	dst = number(dst, `,"rank":`, int64(p.Rank.ID))
	dst = number(dst, `,"world_size":`, int64(p.WorldSize))
	if p.Rank.Host != "" {
		dst = quote(append(dst, `,"host":`...), p.Rank.Host)
	}
	if p.Rank.LocalRank >= 0 {
		dst = number(dst, `,"local_rank":`, int64(p.Rank.LocalRank))
	}
	if len(p.Rank.Role) > 0 {
		open := `,"role":{`
		for _, c := range p.Rank.Role {
			dst = quote(append(dst, open...), c.Axis)
			dst = number(dst, `:`, int64(c.Index))
			open = `,`
		}
		dst = append(dst, '}')
	}
	open := `,"stages":[`
	for _, s := range p.Schema.Stages {
		dst = quote(append(dst, open...), s)
		open = `,`
	}
	dst = number(dst, `],"first_step":`, p.FirstStep)
	open = `,"durations_ns":[`
	for S, d := len(p.Schema.Stages), p.Durations; len(d) > 0; d = d[S:] {
		dst = numbers(append(dst, open...), d[:S])
		open = `,`
	}
	dst = append(dst, ']')
	if p.Wall != nil {
		dst = numbers(append(dst, `,"wall_ns":`...), p.Wall)
	}
	dst = appendSide(dst, p.Side)
	dst = appendArrivals(dst, p)
	if len(p.Notes) > 0 {
		dst = list(append(dst, `,"notes":`...), len(p.Notes), func(dst []byte, i int) []byte { return quote(dst, p.Notes[i]) })
	}
	if p.DataWait != trace.DataWaitConsuming {
		dst = quote(append(dst, `,"data_wait":`...), p.DataWait.String())
	}
	dst = number(dst, `,"accumulation":`, int64(p.Accumulation))
	dst = append(dst, `,"gather_ok":`...)
	return append(strconv.AppendBool(dst, p.GatherOK), '}')
}

func appendSide(dst []byte, side []trace.SideChannel) []byte {
	open := `,"side":{`
	for _, c := range side {
		dst = quote(append(dst, open...), c.Name)
		open = `,`
		dst = list(append(dst, `:{"steps":`...), len(c.Samples), func(dst []byte, i int) []byte {
			return strconv.AppendInt(dst, c.Samples[i].Step, 10)
		})
		dst = list(append(dst, `,"ms":`...), len(c.Samples), func(dst []byte, i int) []byte {
			v := c.Samples[i].Value
			if math.IsNaN(v) || math.IsInf(v, 0) || v == 0 && !c.Samples[i].Ready {
				return append(dst, "null"...)
			}
			return strconv.AppendFloat(dst, v, 'g', -1, 64)
		})
		dst = list(append(dst, `,"ready":`...), len(c.Samples), func(dst []byte, i int) []byte {
			return strconv.AppendBool(dst, c.Samples[i].Ready)
		})
		dst = append(dst, '}')
	}
	if len(side) > 0 {
		dst = append(dst, '}')
	}
	return dst
}

func number(dst []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(dst, key...), n, 10)
}

func numbers(dst []byte, ns []int64) []byte {
	return list(dst, len(ns), func(dst []byte, i int) []byte { return strconv.AppendInt(dst, ns[i], 10) })
}

// list appends an array of n items.
func list(dst []byte, n int, item func(dst []byte, i int) []byte) []byte {
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = item(dst, i)
	}
	return append(dst, ']')
}

// quote appends s, which is valid UTF-8, as a JSON string.
func quote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = fmt.Appendf(dst, `\u%04x`, c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
