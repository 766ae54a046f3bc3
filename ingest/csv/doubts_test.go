package csv_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace"
)

// rowsOf writes a table of ranks by the times of their stages, ms.
func rowsOf(header string, ranks, steps int, times func(step, rank int) []float64) string {
	var b strings.Builder
	fmt.Fprintln(&b, header)
	for step := range steps {
		for rank := range ranks {
			fmt.Fprintf(&b, "%d,%d", step, rank)
			for _, v := range times(step, rank) {
				fmt.Fprintf(&b, ",%.6f", v)
			}
			fmt.Fprintln(&b)
		}
	}
	return b.String()
}

func readAll(t *testing.T, text string, o csv.Options) ([]*trace.Window, error) {
	t.Helper()
	r, err := csv.NewReader(strings.NewReader(text), "x.csv", o)
	if err != nil {
		return nil, err
	}
	return ingesttest.ReadAll(r)
}

// TestMixedUnits: times a thousand times those of the others are in another unit where they make the steps of a rank longer than
// those of the others, and a delay where these wait for it.
func TestMixedUnits(t *testing.T) {
	const header = "step,rank,data_ms,callbacks_ms,backward_ms"
	jitter := func(step, rank int) float64 { return 1 + 0.01*float64((step*7+rank*3)%5) }
	for _, c := range []struct {
		name    string
		times   func(step, rank int) []float64
		refused bool
	}{
		{"in microseconds", func(step, rank int) []float64 {
			v := []float64{15 * jitter(step, rank), 0.12 * jitter(step, rank+1), 120}
			if rank == 2 {
				return []float64{1000 * v[0], 1000 * v[1], 1000 * v[2]}
			}
			return v
		}, true},
		{"one stage in seconds", func(step, rank int) []float64 {
			v := []float64{15 * jitter(step, rank), 0.12 * jitter(step, rank+1), 120}
			if rank == 2 {
				v[2] /= 1000
			}
			return v
		}, true},
		{"late by a thousand times what the others take", func(step, rank int) []float64 {
			if rank == 2 {
				return []float64{15 * jitter(step, rank), 120 * jitter(step, rank+1), 20}
			}
			return []float64{15 * jitter(step, rank), 0.12 * jitter(step, rank+1), 140}
		}, false},
		{"late by three hundred times", func(step, rank int) []float64 {
			if rank == 2 {
				return []float64{15 * jitter(step, rank), 36 * jitter(step, rank+1), 120}
			}
			return []float64{15 * jitter(step, rank), 0.12 * jitter(step, rank+1), 120}
		}, false},
		{"alike", func(step, rank int) []float64 { return []float64{15 * jitter(step, rank), 0.12, 120} }, false},
	} {
		_, err := readAll(t, rowsOf(header, 4, 20, c.times), csv.Options{})
		if refused := err != nil && strings.Contains(err.Error(), "rank 2"); refused != c.refused || err != nil && !refused {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestRunningTotals: what never goes back and grows by a step, or to twice what it was, is a clock; what grows a little is a stage.
func TestRunningTotals(t *testing.T) {
	const header = "step,rank,data_ms,backward_ms,x_ms"
	for _, c := range []struct {
		name   string
		steps  int
		x      func(step int) float64
		stages string
	}{
		{"since the start", 20, func(step int) float64 { return 100 * float64(step+1) }, "data backward"},
		{"since long before", 20, func(step int) float64 { return 1e6 + 100*float64(step) }, "data backward"},
		{"a stage that grows by a half", 20, func(step int) float64 { return 20 + 0.5*float64(step) }, "data backward x"},
		{"a stage that goes back", 20, func(step int) float64 { return 10 * float64(1+step%19) }, "data backward x"},
		{"constant", 20, func(int) float64 { return 30 }, "data backward x"},
		{"few steps", 15, func(step int) float64 { return 100 * float64(step+1) }, "data backward x"},
	} {
		ws, err := readAll(t, rowsOf(header, 2, c.steps, func(step, rank int) []float64 {
			return []float64{20 + float64((step*7+rank*3)%5), 80 - float64((step*5+rank)%7), c.x(step)}
		}), csv.Options{})
		if err != nil || len(ws) != 1 || strings.Join(ws[0].Schema.Stages, " ") != c.stages {
			t.Errorf("%s: %v %v", c.name, ws, err)
		}
	}
}

// TestGuessedUnits: times with fractions and without a unit are read in the only one that makes a step of them, and asked about otherwise.
func TestGuessedUnits(t *testing.T) {
	for _, c := range []struct {
		step  float64 // as it is written
		ns    float64 // as it is read; 0: asked
		words string
	}{
		{0.225, 225e6, "read as seconds"},
		{225.5, 225.5e6, "read as milliseconds"},
		{225000.5, 225000.5e3, "read as microseconds"},
		{5.5, 0, "are these milliseconds (--unit ms, a step of 5.5 ms) or seconds (--unit s, a step of 5.5 s)?"},
	} {
		ws, err := readAll(t, rowsOf("step,rank,data,backward", 2, 4, func(_, rank int) []float64 {
			return []float64{0.25 * c.step, 0.75 * c.step}
		}), csv.Options{})
		switch {
		case c.ns == 0:
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%g: %v", c.step, err)
			}
		case err != nil || len(ws) != 1:
			t.Errorf("%g: %v", c.step, err)
		default:
			if got := float64(ws[0].Durations[0] + ws[0].Durations[2]); got != c.ns || !strings.Contains(fmt.Sprint(ws[0].Notes), c.words) {
				t.Errorf("%g: a step of %g ns, %v", c.step, got, ws[0].Notes)
			}
		}
	}
}

// TestCommas: a comma is that of a fraction or of thousands, by the other cells and by the length of a step.
func TestCommas(t *testing.T) {
	for _, c := range []struct {
		name, text string
		first      int64 // ns
	}{
		{"four digits before it", "step;rank;data_ms;backward_ms\n0;0;1500,125;80,5\n0;1;1500,125;80,5\n", 1500125000},
		{"two of them", "step,rank,data_us,backward_us\n0,0,\"1,500,125\",\"80,125\"\n0,1,\"1,500,125\",\"80,125\"\n", 1500125000},
		{"a zero before it", "step;rank;data_s;backward_s\n0;0;0,015;0,125\n0;1;0,015;0,125\n", 15e6},
		{"milliseconds", "step;rank;data_ms;backward_ms\n0;0;15,125;80,125\n0;1;15,125;80,125\n", 15125000},
		{"microseconds", "step;rank;data_us;backward_us\n0;0;15,125;80,125\n0;1;15,125;80,125\n", 15125000},
	} {
		ws, err := readAll(t, c.text, csv.Options{})
		if err != nil || len(ws) != 1 || ws[0].Durations[0] != c.first {
			t.Errorf("%s: %+v %v", c.name, ws, err)
		}
	}
}
