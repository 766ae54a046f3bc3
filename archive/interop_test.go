package archive_test

import (
	"bytes"
	"io"
	"math"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/sfstat/sfstat/trace"
)

// row is an archive's row as the parquet-go library, which shares no code with
// this package, sees it.
type row struct {
	Run      string   `parquet:"run"`
	Window   int64    `parquet:"window"`
	Step     int64    `parquet:"step"`
	Rank     int64    `parquet:"rank"`
	Data     int64    `parquet:"data.next_wait"`
	Forward  int64    `parquet:"model.fwd_loss_cpu_wall"`
	Backward int64    `parquet:"model.backward_cpu_wall"`
	Call     int64    `parquet:"callbacks.cpu_wall"`
	Optim    int64    `parquet:"optim.step_cpu_wall"`
	Wall     *int64   `parquet:"wall_ns,optional"`
	Event    *float64 `parquet:"model.fwd_loss_cuda_event_ms,optional"`
	Ready    *bool    `parquet:"model.fwd_loss_cuda_event_ms.ready,optional"`
}

// rowsOf writes out by hand what the rows of a window are.
func rowsOf(w *trace.Window) []row {
	var rows []row
	for t := range w.Steps() {
		step := w.Step(t)
		R := len(w.Ranks)
		for r := range R {
			x := row{Run: w.Run, Window: w.Index, Step: w.FirstStep + int64(t), Rank: int64(w.Ranks[r].ID),
				Data: step[r], Forward: step[R+r], Backward: step[2*R+r], Call: step[3*R+r], Optim: step[4*R+r]}
			if w.Wall != nil {
				x.Wall = &w.Wall[t*R+r]
			}
			for _, c := range w.Side {
				for i, s := range c.Samples {
					if s.Step == x.Step && s.Rank == r {
						x.Event, x.Ready = &c.Samples[i].Value, &c.Samples[i].Ready
					}
				}
			}
			rows = append(rows, x)
		}
	}
	return rows
}

func mixed() []*trace.Window {
	g := shape{5, 70, .01, 1}
	a, b, c := synthesize(g, 1), synthesize(g, 2), synthesize(g, 3)
	a.Run, b.Run, b.Index, b.Wall = "first", "second", 1, nil
	c.Side = []trace.SideChannel{{Name: "model.fwd_loss_cuda_event_ms"}}
	for i, v := range []float64{60.5, math.NaN(), 0, 1e-300} {
		c.Side[0].Samples = append(c.Side[0].Samples, trace.Sample{Step: 20 + int64(i*i), Rank: i, Value: v, Ready: i != 1})
	}
	return []*trace.Window{a, b, c}
}

func TestOthersRead(t *testing.T) {
	windows := mixed()
	file := write(t, windows...)
	got, err := parquet.Read[row](bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var want []row
	for _, w := range windows {
		want = append(want, rowsOf(w)...)
	}
	if d := diff(want, got); d != "" {
		t.Errorf("(-window +row) %.1000s", d)
	}
}

// A program may rewrite an archive and keep its metadata, as pyarrow does:
// another compression, other encodings, nullable columns, other row
// groups, columns in another order.
func TestOthersRewrite(t *testing.T) {
	windows := mixed()
	file := write(t, windows...)
	source, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	dictionary := func(n parquet.Node) parquet.Node {
		return parquet.Encoded(parquet.Optional(n), &parquet.RLEDictionary)
	}
	names := parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	plain := func(n parquet.Node) parquet.Node { return parquet.Optional(n) }
	tests := []struct {
		name   string
		number func(parquet.Node) parquet.Node
		codec  compress.Codec
		run    parquet.Node
	}{
		{"dictionary, snappy", dictionary, &parquet.Snappy, names},
		{"plain, none", plain, &parquet.Uncompressed, parquet.Encoded(parquet.String(), &parquet.Plain)},
		{"required, zstd", func(n parquet.Node) parquet.Node { return n }, &parquet.Zstd, names},
		{"dictionary, zstd", dictionary, &parquet.Zstd, names},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			group := parquet.Group{"run": tt.run,
				"wall_ns":                            parquet.Optional(parquet.Leaf(parquet.Int64Type)),
				"model.fwd_loss_cuda_event_ms":       parquet.Optional(parquet.Leaf(parquet.DoubleType)),
				"model.fwd_loss_cuda_event_ms.ready": parquet.Optional(parquet.Leaf(parquet.BooleanType))}
			for _, name := range stages {
				group[name] = tt.number(parquet.Leaf(parquet.Int64Type))
			}
			for _, name := range []string{"window", "step", "rank"} { // required: parquet-go makes an optional 0 a null
				group[name] = parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.RLEDictionary)
			}
			var b bytes.Buffer
			options := []parquet.WriterOption{parquet.NewSchema("other", group), parquet.Compression(tt.codec), parquet.DataPageVersion(1), parquet.PageBufferSize(777)}
			for _, kv := range source.Metadata().KeyValueMetadata {
				options = append(options, parquet.KeyValueMetadata(kv.Key, kv.Value))
			}
			w := parquet.NewGenericWriter[row](&b, options...)
			for _, x := range windows {
				if _, err := w.Write(rowsOf(x)); err != nil {
					t.Fatal(err)
				}
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := readAll(b.Bytes())
			if d := diff(windows, got); err != nil || d != "" {
				t.Errorf("%v %.1000s", err, d)
			}
		})
	}
}

// A file without any row is an archive of no windows.
func TestEmptyArchive(t *testing.T) {
	got, err := readAll(write(t))
	if err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
	file := write(t)
	rows, err := parquet.Read[struct {
		Run string `parquet:"run"`
	}](bytes.NewReader(file), int64(len(file)))
	if err != nil && err != io.EOF || len(rows) != 0 {
		t.Errorf("parquet-go reads %d rows of none: %v", len(rows), err)
	}
}
