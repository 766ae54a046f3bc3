package report

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/trace/comms"
)

// fixtureTraffic is the job of fixtures/comm, or what a part of its files tells.
func fixtureTraffic(t *testing.T, paths ...string) *comm.Result {
	t.Helper()
	found, _, err := auto.ReadComm(paths, auto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return trafficIn(t, found)
}

func trafficIn(t *testing.T, c *comms.Record) *comm.Result {
	t.Helper()
	r, err := comm.Analyze(c, comm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const commRun = "../fixtures/comm/run"

func TestTrafficSchema(t *testing.T) {
	schema, _ := readSchema(t, "comm")
	problem := []Problem{{Path: "x.log", Err: errors.New("torn")}}
	for name, paths := range map[string][]string{"all": {commRun}, "logs": {commRun + "/nccl.node0.4000.log"}, "exports": {commRun + "/node1.sqlite"}, "payloads": {commRun + "/../payloads"},
		"dumps": {commRun + "/../inspector"}} {
		r := fixtureTraffic(t, paths...)
		m, err := volume.Model{Layers: 2, Hidden: 512, Sequence: 2048, Vocabulary: 28672, Microbatch: 1, GlobalBatch: int64(len(r.Ranks)), ElementBytes: 2,
			DP: int64(len(r.Ranks)), Iterations: 4}.Complete()
		if err == nil {
			r, err = comm.Analyze(r.Recorded, comm.Options{Model: &m})
		}
		if err != nil {
			t.Fatal(err)
		}
		for f := Text; f <= Markdown; f++ {
			var out bytes.Buffer
			if err := to(&out, f, Style{}, problem...).Traffic(r); err != nil {
				t.Fatal(err)
			}
			if text := out.String(); strings.Contains(text, "NaN") || strings.Contains(text, "%!") {
				t.Errorf("%s as %v:\n%s", name, f, text)
			}
			if f == JSON {
				valid(t, schema, name, out.Bytes())
			}
			if err := to(full{}, f, Style{}, problem...).Traffic(r); err == nil {
				t.Errorf("as %v: the failed write is not reported", f)
			}
		}
	}
}

// TestCommViewSchemas: the same for what comm shows instead of its verdict.
func TestCommViewSchemas(t *testing.T) {
	problem := []Problem{{Path: "x.log", Err: errors.New("torn")}}
	for name, write := range map[string]func(io.Writer, *comm.Result, Format) error{
		"comm-topology": func(w io.Writer, r *comm.Result, f Format) error {
			return to(w, f, Style{}, problem...).Topology(comm.Machines(r))
		},
		"comm-steps":  func(w io.Writer, r *comm.Result, f Format) error { return to(w, f, Style{}, problem...).CommSteps(r) },
		"comm-matrix": func(w io.Writer, r *comm.Result, f Format) error { return to(w, f, Style{}, problem...).CommMatrix(r) },
	} {
		t.Run(name, func(t *testing.T) {
			schema, _ := readSchema(t, name)
			for _, paths := range [][]string{{commRun}, {commRun + "/nccl.node0.4000.log"}, {commRun + "/node1.sqlite"}, {commRun + "/../payloads"}, {commRun + "/../inspector"}} {
				r := fixtureTraffic(t, paths...)
				var out bytes.Buffer
				if err := write(&out, r, JSON); err != nil {
					t.Fatal(err)
				}
				valid(t, schema, paths[0], out.Bytes())
				for f := Text; f <= Markdown; f++ {
					if write(full{}, r, f) == nil {
						t.Errorf("as %v: the failed write is not reported", f)
					}
				}
			}
		})
	}
}

func TestMatches(t *testing.T) {
	var out bytes.Buffer
	if err := (Output{W: &out}).Matches(fixtureTraffic(t, commRun)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if want := "log_file,line,sqlite_file,global_pid,correlation_id,certain"; lines[0] != want || len(lines) != 132+2 {
		t.Errorf("%d lines, the first %q", len(lines), lines[0])
	}
	if want := "nccl.node0.4000.log,33,node0.sqlite,73465036030345216,10,true"; lines[1] != want {
		t.Errorf("%q, expected %q", lines[1], want)
	}
	if err := (Output{W: full{}}).Matches(fixtureTraffic(t, commRun)); err == nil {
		t.Error("the failed write is not reported")
	}
}
