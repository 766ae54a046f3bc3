package kineto

import (
	"bytes"
	"fmt"
	"io"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"testing"
	"time"

	"github.com/sfstat/sfstat/trace/profile"
)

// stream is a trace of any length that is made while it is read: rounds of the
// events of corpus, and an all-reduce every now and then. The steps are marked
// at the very end, so that nothing can be said of any work before.
type stream struct {
	rounds, steps int
	plain, meets  *round
	rest          []byte
	done          int // rounds
}

// perRound is how many events a round has, and roundTime how long it takes, µs.
const (
	perRound  = 7
	roundTime = 150
	meetEvery = 250 // rounds
)

func newStream(events, steps int) *stream {
	s := &stream{rounds: events / perRound, steps: steps, plain: newRound("gemm_kernel", 7), meets: newRound("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 20)}
	s.rest = []byte("{\"distributedInfo\": {\"rank\": 0, \"world_size\": 2},\n\"traceEvents\": [\n{}")
	return s
}

func (s *stream) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		switch {
		case s.done < s.rounds:
			of := s.plain
			if s.done%meetEvery == meetEvery-1 {
				of = s.meets
			}
			s.rest = of.at(firstTime+int64(s.done)*roundTime, firstID+int64(s.done))
		case s.done == s.rounds:
			s.rest = s.end()
		default:
			return 0, io.EOF
		}
		s.done++
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// end marks the steps.
func (s *stream) end() []byte {
	var b bytes.Buffer
	each := int64(s.rounds) * roundTime / int64(s.steps)
	for i := range int64(s.steps) {
		at := firstTime + i*each
		fmt.Fprintf(&b, ",\n{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#%d\", \"pid\": 1, \"tid\": 1, \"ts\": %d, \"dur\": %d}", i, at, each)
		fmt.Fprintf(&b, ",\n{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"forward\", \"pid\": 1, \"tid\": 1, \"ts\": %d, \"dur\": %d}", at, each/2)
		fmt.Fprintf(&b, ",\n{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"backward\", \"pid\": 1, \"tid\": 1, \"ts\": %d, \"dur\": %d}", at+each/2, each/4)
	}
	b.WriteString("]}\n")
	return b.Bytes()
}

// The first time, µs, and correlation: all of a trace have as many digits.
const (
	firstTime = 1_000_000_000_000
	firstID   = 100_000_000
)

// round is the text of a round, and where its numbers stand.
type round struct {
	text  []byte
	times []stamp
	ids   []int
}

type stamp struct {
	at    int
	after int64 // the beginning of the round
}

func newRound(kernel string, queue int) *round {
	r := &round{}
	add := func(after int64, correlated bool, format string, args ...any) {
		r.text = append(r.text, ",\n{\"ph\": \"X\", \"ts\": "...)
		r.times = append(r.times, stamp{len(r.text), after})
		r.text = append(r.text, strconv.FormatInt(firstTime, 10)+".119, "...)
		r.text = fmt.Appendf(r.text, format, args...)
		if correlated {
			r.text = append(r.text, "\"correlation\": "...)
			r.ids = append(r.ids, len(r.text))
			r.text = append(r.text, strconv.FormatInt(firstID, 10)...)
		}
		r.text = append(r.text, "}}"...)
	}
	for k, name := range []string{"aten::conv2d", "aten::_convolution", "aten::batch_norm", "aten::relu", "aten::add_"} {
		add(int64(k), false, "\"dur\": 31.205, \"cat\": \"cpu_op\", \"name\": %q, \"pid\": 1, \"tid\": 1, \"args\": {\"Input type\": [\"float\", \"float\", \"ScalarList\"], \"Input Dims\": [[64, 256, 56, 56], []]", name)
	}
	add(20, true, "\"dur\": 105.151, \"cat\": \"kernel\", \"name\": %q, \"pid\": 0, \"tid\": %d, \"args\": {\"stream\": %d, \"grid\": [98, 4, 16], ", kernel, queue, queue)
	add(10, true, "\"dur\": 7.121, \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1, \"args\": {\"cbid\": 211, ")
	return r
}

// at is the text of the round that begins at a time.
func (r *round) at(us, id int64) []byte {
	for _, s := range r.times {
		strconv.AppendInt(r.text[s.at:s.at], us+s.after, 10)
	}
	for _, at := range r.ids {
		strconv.AppendInt(r.text[at:at], id, 10)
	}
	return r.text
}

// watch calls do and tells the most that a metric of the runtime was meanwhile.
func watch(metric string, do func()) uint64 {
	most := uint64(0)
	sample := []metrics.Sample{{Name: metric}}
	look := func() {
		metrics.Read(sample)
		most = max(most, sample[0].Value.Uint64())
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				look()
			case <-stop:
				look()
				return
			}
		}
	}()
	do()
	close(stop)
	<-stopped
	return most
}

// TestFlat: ten times as many events need no more memory: 300,000 of them have
// fewer kernels than are held as they are, 3 million seven times as many. What
// is live is looked at while the trace is read and while the profile is made.
func TestFlat(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	live := func(events int) (bytes uint64, r *profile.Rank) {
		bytes = watch("/gc/heap/live:bytes", func() {
			var err error
			if r, err = Read(newStream(events, 10), "t.json", Options{}); err != nil {
				t.Fatal(err)
			}
		})
		return bytes, r
	}
	little, _ := live(300_000)
	much, r := live(3_000_000)
	t.Logf("live: %.1f MB of 0.3 M events, %.1f MB of 3 M", float64(little)/1e6, float64(much)/1e6)
	const room = 4 << 20 // for runs in memory, and for what is being written
	if much > little+room {
		t.Errorf("%d bytes are live while 3 M events are read, %d of 0.3 M", much, little)
	}
	kernels := int64(0)
	for _, tally := range r.Tallies {
		kernels += int64(tally.Count)
	}
	if kernels += int64(len(r.Comm.Calls)); kernels != 3_000_000/perRound || len(r.Steps) != 10 {
		t.Errorf("%d kernels in %d steps", kernels, len(r.Steps))
	}
	for _, s := range r.Steps {
		// A kernel of 105.151 µs every 150.
		c := s.Time
		if busy, want := c.Compute+c.Communication, (c.End-c.Start)/150*105; busy < want-want/100 || busy > want+want/100 {
			t.Errorf("step %d is busy for %d of %d ns", s.Index, busy, c.End-c.Start)
		}
	}
}

// BenchmarkLarge reads traces that are made on the way: their memory, with what
// waits to be collected, does not grow with them.
func BenchmarkLarge(b *testing.B) {
	for _, millions := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("events=%dM", millions), func(b *testing.B) {
			peak := uint64(0)
			for b.Loop() {
				peak = max(peak, watch("/memory/classes/heap/objects:bytes", func() {
					if _, err := Read(newStream(millions*1_000_000, 10*millions), "x", Options{}); err != nil {
						b.Fatal(err)
					}
				}))
			}
			b.ReportMetric(float64(millions)*1e6*float64(b.N)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(peak)/1e6, "peak-MB")
		})
	}
}
