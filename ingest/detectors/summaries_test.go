package detectors

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest"
)

// summaryOf returns what is concluded of a text, with the ranks that it names.
func summaryOf(t *testing.T, text string) string {
	t.Helper()
	if !Summarises([]byte(text[:min(len(text), headOf)])) {
		t.Error("not recognised")
	}
	r, err := Read(strings.NewReader(text), "x", ingest.Limits{})
	if err != nil {
		return err.Error()
	}
	e := r.Events[0]
	return fmt.Sprint(e.Text, e.Ranks)
}

// negotiations returns a timeline of n negotiations of four ranks, of which one says who is last in each.
func negotiations(n int, last func(i int) int) string {
	text := `[{"name": "process_name", "ph": "M", "pid": 3, "args": {"name": "grad"}},` + "\n"
	for i := range n {
		text += fmt.Sprintf(`{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": %d, "pid": 3},`+"\n", 1000*i)
		for rank := range 4 {
			at := 1000*i + rank
			if rank == last(i) {
				at = 1000*i + 502
			}
			text += fmt.Sprintf(`{"ph": "X", "name": "%d", "ts": %d, "pid": 3, "dur": 0},`+"\n", rank, at)
		}
		text += fmt.Sprintf(`{"ph": "E", "ts": %d, "pid": 3},`+"\n"+`{"ph": "B", "name": "ALLREDUCE", "ts": %d, "pid": 3},{"ph": "X", "name": "0", "ts": %d, "pid": 3},{"ph": "E", "ts": %d, "pid": 3},`+"\n", 1000*i+510, 1000*i+510, 1000*i+900, 1000*i+990)
	}
	return text // not closed, as while a job runs
}

// stepRows returns the table of an Ascend cluster whose ranks wait as long as given, ms.
func stepRows(computing, waiting []float64) string {
	text := "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble\n"
	for rank := range waiting {
		for step := range 2 {
			text += fmt.Sprintf("%d,rank,%d,%.1f,%.1f,0,0,100.0,0,0\n", step, rank, computing[rank]*500, waiting[rank]*500)
		}
	}
	return text + "1,stage,\"(0, 1)\",9e9,9e9,0,0,100.0,0,0\n"
}

// communication returns the JSON of an Ascend cluster.
func communication(waits ...float64) string {
	var ranks []string
	for rank, w := range waits {
		ranks = append(ranks, fmt.Sprintf(`"%d": {"Communication Time Info": {"Start Timestamp(us)": 1, "Wait Time(ms)": %v}}`, rank, w))
	}
	op := "{" + strings.Join(ranks, ", ") + "}"
	return fmt.Sprintf(`{"('0','1')": {"step1": {"hcom_allReduce__1": %s, "Total Op Info": %s}}}`, op, op)
}

// gpu returns the two rows of a GPU on nvidia-smi's screen.
func gpu(n, watts, mebibytes, percent int) string {
	return fmt.Sprintf("|   %d  NVIDIA A100-SXM4-80GB          On  | 00000000:%02d:00.0 Off |                    0 |\n| N/A   3%dC    P0             %3dW / 400W | %6dMiB / 81920MiB |    %3d%%      Default |\n", n, n+1, n, watts, mebibytes, percent)
}

func TestSummaries(t *testing.T) {
	const screen = "| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |\n"
	for name, c := range map[string]struct{ text, want string }{
		"Horovod":               {negotiations(20, func(int) int { return 2 }), "by Horovod's timeline rank 2 of 4 is ready last in 20 of 20 negotiations, 500µs after the others (medians)[2]"},
		"Horovod, in turn":      {negotiations(20, func(i int) int { return i % 4 }), "by Horovod's timeline none of 4 ranks is ready last in most of 20 negotiations: rank 0 is in 5[]"},
		"Horovod, few":          {negotiations(3, func(int) int { return 2 }), "by Horovod's timeline none of 4 ranks is ready last in most of 3 negotiations: rank 2 is in 3[]"},
		"Ascend":                {stepRows([]float64{900, 1500, 900, 910}, []float64{756, 133, 744, 750}), "of 4 ranks of an Ascend cluster rank 1 communicates least, 133ms, the others 744ms to 756ms: they may wait for it[1]"},
		"Ascend, alike":         {stepRows([]float64{900, 905, 900, 910}, []float64{756, 730, 744, 750}), "of 4 ranks of an Ascend cluster rank 1 communicates least, 730ms, the others 744ms to 756ms: none stands out[]"},
		"Ascend, less to do":    {stepRows([]float64{900, 100, 900, 910}, []float64{756, 133, 744, 750}), "of 4 ranks of an Ascend cluster rank 1 communicates least, 133ms, the others 744ms to 756ms: none stands out[]"},
		"Ascend, communication": {communication(99.5, 0.5, 98), "of 3 ranks of an Ascend cluster rank 1 waits in communication least, 500µs, the others 98ms to 99.5ms: they may wait for it[1]"},
		"a screen": {screen + gpu(0, 77, 65000, 0) + gpu(1, 300, 65000, 100) + gpu(2, 310, 65000, 100) + gpu(3, 305, 65000, 100),
			"at the moment of nvidia-smi's screen GPU 0 computes 0 % of the time at 77 W, 3 others 90 % or more: they may wait in a collective for its process[]"},
		"a free GPU": {screen + gpu(0, 77, 3, 0) + gpu(1, 300, 65000, 100) + gpu(2, 310, 65000, 97), "at the moment of nvidia-smi's screen 3 GPUs do much the same (0 to 100 % of the time; GPU 2 is the hottest, at 32 °C)[]"},
		"the last of several": {screen + gpu(0, 77, 65000, 0) + gpu(1, 300, 65000, 100) + gpu(2, 300, 65000, 100) + screen + gpu(0, 300, 65000, 99) + gpu(1, 300, 65000, 100),
			"at the moment of nvidia-smi's screen 2 GPUs do much the same (99 to 100 % of the time; GPU 1 is the hottest, at 31 °C)[]"},
		"a lost GPU":          {screen + gpu(0, 77, 65000, 100) + "|   3  ERR!                            On  | 00000000:04:00.0 Off |                 ERR! |\n", "at the moment of nvidia-smi's screen GPU 3 does not answer[]"},
		"Horovod without any": {`[{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 1, "pid": 3}]`, "x: a timeline of Horovod without a negotiation of two ranks or more: record a few steps with HOROVOD_TIMELINE=FILE (missing)"},
		"Ascend, one rank":    {communication(5), "x: times of 1 ranks of an Ascend cluster, of which two or more can be compared (missing)"},
		"Ascend, broken":      {stepRows([]float64{1}, []float64{1}) + "1,rank,x,1,1,0,0,1,0,0\n", `x:5: rank "x" (out of range)`},
	} {
		if got := summaryOf(t, c.text); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Whatever stands in summaries: no panic, and a text where there is no error.
func FuzzSummaries(f *testing.F) {
	f.Add(negotiations(2, func(int) int { return 1 }))
	f.Add(stepRows([]float64{1, 2}, []float64{3, 4}))
	f.Add(communication(1, 2))
	f.Add("| NVIDIA-SMI |\n" + gpu(0, 77, 65000, 0) + gpu(1, 300, 65000, 100))
	f.Fuzz(func(t *testing.T, text string) {
		for i := range readers {
			events, err := readers[i].read(strings.NewReader(text), "x", ingest.Limits{Line: 1 << 16})
			if err == nil && (len(events) == 0 || events[0].Text == "") {
				t.Errorf("%q: neither an event nor an error", text)
			}
		}
	})
}
