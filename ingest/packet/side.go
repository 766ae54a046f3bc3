package packet

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// sideChannels reads the side channels into dst, whose memory is used again. Samples
// are sorted by step, a channel without samples is dropped.
func (d *decoder) sideChannels(dst []trace.SideChannel) ([]trace.SideChannel, *fault) {
	f := d.object("an object of side channels", func(key []byte, at int) *fault {
		if len(dst) == maxSide {
			return d.fail(at, input.ErrTooLarge, "more than %d side channels", maxSide)
		}
		if len(key) == 0 || len(key) > trace.MaxStageName {
			return d.fail(at, input.ErrFormat, "a side channel has a name of %d bytes, expected 1 to %d", len(key), trace.MaxStageName)
		}
		name := d.intern(key)
		if slices.ContainsFunc(dst, func(c trace.SideChannel) bool { return c.Name == name }) {
			return d.fail(at, input.ErrDuplicate, "the side channel %q is given twice", name)
		}
		if len(dst) < cap(dst) {
			dst = dst[:len(dst)+1]
		} else {
			dst = append(dst, trace.SideChannel{})
		}
		c := &dst[len(dst)-1]
		c.Name = name
		return d.channel(c)
	})
	if f != nil {
		return dst, f
	}
	return slices.DeleteFunc(dst, func(c trace.SideChannel) bool { return len(c.Samples) == 0 }), nil
}

// channel reads one side channel: three arrays of one length.
func (d *decoder) channel(c *trace.SideChannel) *fault {
	const steps, ms, ready = 0, 1, 2
	names := [...]string{"steps", "ms", "ready"}
	var have [len(names)]bool
	d.column = [3]int{}
	c.Samples = c.Samples[:0]
	at := d.i
	f := d.object("a side channel, which is an object of steps, ms and ready", func(key []byte, keyAt int) *fault {
		which := slices.Index(names[:], string(key))
		if which < 0 {
			d.Unknown++
			return d.skip(0)
		}
		if have[which] {
			return d.fail(keyAt, input.ErrDuplicate, "%q is given twice for channel %q", names[which], c.Name)
		}
		have[which] = true
		return d.list("an array", func() *fault { return d.sample(c, which) })
	})
	if f != nil {
		return f
	}
	for i, ok := range have {
		if !ok {
			return d.fail(at, input.ErrMissing, "channel %q has no %q", c.Name, names[i])
		}
	}
	if n := d.column; n[steps] != n[ms] || n[steps] != n[ready] {
		return d.fail(at, input.ErrRagged, "channel %q has %d steps, %d ms and %d ready", c.Name, n[steps], n[ms], n[ready])
	}
	return d.settle(c, at)
}

// sample reads the next entry of one of the arrays, whichever comes first in
// the line makes the samples. An absent value is NaN until settle.
func (d *decoder) sample(c *trace.SideChannel, which int) (f *fault) {
	n := d.column[which]
	d.column[which]++
	if n == len(c.Samples) {
		c.Samples = append(c.Samples, trace.Sample{})
	}
	s := &c.Samples[n]
	switch which {
	case 0:
		s.Step, f = d.integer("a step number", 0, math.MaxInt64)
	case 1:
		var null bool
		if null, f = d.null(); null {
			s.Value = math.NaN()
		} else if f == nil {
			s.Value, f = d.float("a number of milliseconds")
		}
	case 2:
		s.Ready, f = d.boolean()
	}
	return f
}

// settle checks the samples of a channel and sorts them by step.
func (d *decoder) settle(c *trace.SideChannel, at int) *fault {
	for i := range c.Samples {
		s := &c.Samples[i]
		switch {
		case s.Ready && math.IsNaN(s.Value):
			return d.fail(at, input.ErrMissing, "channel %q is null in step %d, which is ready", c.Name, s.Step)
		case s.Ready && s.Value < 0:
			return d.fail(at, input.ErrNegative, "channel %q is %v in step %d", c.Name, s.Value, s.Step)
		case math.IsNaN(s.Value):
			s.Value = 0
		}
	}
	slices.SortFunc(c.Samples, func(a, b trace.Sample) int { return cmp.Compare(a.Step, b.Step) })
	for i := 1; i < len(c.Samples); i++ {
		if step := c.Samples[i].Step; step == c.Samples[i-1].Step {
			return d.fail(at, input.ErrDuplicate, "channel %q has two samples of step %d", c.Name, step)
		}
	}
	return nil
}
