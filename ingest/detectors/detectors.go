// Package detectors reads what other tools conclude of ranks, in their summaries and in the logs of training programs:
//
//   - Megatron's straggler detector (--log-straggler): "| MnRtt/Rnk: 3453.08ms/8 | MxRtt/Rnk: 3468.20ms/0 | …", the least and the
//     most of a quantity and whose it is;
//   - NVIDIA's resiliency extension (NVRx): scores of the worst and best ranks under "GPU relative performance:" and "GPU individual performance:";
//   - DeepSpeed's comms logger, log_summary(show_straggler=True): what of each operation's latency was waiting for others;
//   - TraceML's final_summary.json: its diagnosis;
//   - Horovod's timeline: who was ready last in each negotiation;
//   - cluster_step_trace_time.csv and cluster_communication.json of msprof-analyze: how long each rank of an Ascend cluster waits;
//   - the screen of nvidia-smi: in what the GPUs of a host differ at a moment.
//
// None of these has a time for each step and rank, so nothing can be counted in them. They are events beside a
// recording, with the ranks that they name: one for what most of a file's reports agree on, by the medians of
// the reports, if it is large enough to matter ([matters]).
//
// Cost: O(bytes).
//
// Sources of the forms: megatron/core/utils.py and README_STRAGGLER.md of Megatron-LM, nvidia_resiliency_ext/ptl_resiliency/straggler_det_callback.py,
// deepspeed/utils/comms_logging.py, and a summary of TraceML 0.5 (schema 1.9).
package detectors

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
)

// marks are in all of the logs.
var marks = []string{"MnRtt/Rnk", " performance:", "Comm. Op"}

// reader reads a form of its own; sign is in its beginning.
type reader struct {
	signs []string
	read  func(io.Reader, string, ingest.Limits) ([]health.Event, error)
}

var readers = []reader{
	{[]string{`"NEGOTIATE_`, `"ph"`}, timeline},
	{[]string{`"Communication Time Info"`, `"Wait Time(ms)"`}, clusterCommunication},
	{[]string{"Step,Type,Index,Computing,Communication(Not Overlapped)"}, stepTable},
	{[]string{"| NVIDIA-SMI ", "MiB /"}, screen},
}

// ownReader returns the reader of a form of its own, nil for others.
func ownReader(text []byte) *reader {
	for i := range readers {
		if !slices.ContainsFunc(readers[i].signs, func(sign string) bool { return !bytes.Contains(text, []byte(sign)) }) {
			return &readers[i]
		}
	}
	return nil
}

// Summarises reports whether text, the beginning of a file, is a summary over the ranks of a job, in a form of its own.
func Summarises(text []byte) bool { return ownReader(text) != nil }

// headOf is how much of a file tells its form.
const headOf = 16 << 10

// Recognise reports whether text, the beginning of a file, is of a tool whose conclusions are read.
func Recognise(text []byte) bool {
	if bytes.HasPrefix(text, []byte("{")) {
		return bytes.Contains(text, []byte(`"primary_diagnosis"`)) && bytes.Contains(text, []byte(`"analysis_window"`))
	}
	if !slices.ContainsFunc(marks, func(mark string) bool { return bytes.Contains(text, []byte(mark)) }) {
		return false
	}
	for line := range bytes.Lines(text) {
		if extremes.Match(line) || scores.Match(line) || commsTable.Match(line) {
			return true
		}
	}
	return false
}

// Read reads a file. An error is of the input, or says that nothing is concluded in it.
func Read(src io.Reader, name string, lim ingest.Limits) (*health.Record, error) {
	head := make([]byte, headOf)
	n, err := io.ReadFull(src, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	src = io.MultiReader(bytes.NewReader(head[:n]), src)
	t := &health.Record{Path: name}
	if r := ownReader(head[:n]); r != nil {
		t.Events, err = r.read(src, name, lim)
		return t, err
	}
	if n > 0 && head[0] == '{' {
		t.Events, err = summary(src, name, lim)
		return t, err
	}
	l, words := Log{}, ingest.Words{}
	any, _ := words.Set(marks...)
	lines := ingest.NewTerminalLines(src, name, lim)
	for {
		line, _, err := lines.NextCut()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		has := words.Find(line)
		l.Line(line, has.ContainsAny(&any))
	}
	if t = l.Record(name); t == nil {
		return nil, input.At(lines.Pos(), input.Bad(input.ErrEmpty, "no report of Megatron's straggler detector, NVRx or DeepSpeed's comms logger up to here"))
	}
	return t, nil
}

// Words returns the words of which one is in every line of a log that counts by itself.
func Words() []string { return marks }

// conclusion returns an event.
func conclusion(text, host string, ranks ...int) health.Event {
	return health.Event{Kind: health.ToolReport, Device: -1, Host: host, Ranks: ranks, Text: text}
}

// diagnosis is what TraceML concludes, as far as it is needed.
type diagnosis struct {
	Primary *struct {
		Status   string `json:"status"`
		Summary  string `json:"summary"`
		Severity string `json:"severity"`
		Evidence struct {
			Worst *struct {
				Rank int `json:"rank"`
			} `json:"worst"`
		} `json:"evidence"`
	} `json:"primary_diagnosis"`
	Steps struct {
		Groups struct {
			Rows map[string]struct {
				Identity struct {
					Rank int    `json:"global_rank"`
					Host string `json:"hostname"`
				} `json:"identity"`
			} `json:"rows"`
		} `json:"groups"`
	} `json:"step_time"`
}

// summary reads a summary of TraceML.
func summary(src io.Reader, name string, lim ingest.Limits) ([]health.Event, error) {
	text, err := io.ReadAll(io.LimitReader(src, lim.Scale(ingest.StoredSize(src)).Line))
	if err != nil {
		return nil, err
	}
	var d diagnosis
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, input.At(input.Pos{File: name, Offset: offset(err, len(text))}, input.Bad(input.ErrFormat, "no summary of TraceML (%v): was the job killed while it was written?", err))
	}
	if d.Primary == nil || d.Primary.Summary == "" {
		return nil, input.At(input.Pos{File: name}, input.Bad(input.ErrMissing, "a summary of TraceML without primary_diagnosis: write it with TraceML 0.4 or later"))
	}
	said := "TraceML says " + d.Primary.Status + ": " + d.Primary.Summary
	if w := d.Primary.Evidence.Worst; w != nil {
		host := ""
		for _, row := range d.Steps.Groups.Rows {
			if row.Identity.Rank == w.Rank {
				host = row.Identity.Host
			}
		}
		return []health.Event{conclusion(said, host, w.Rank)}, nil
	}
	return []health.Event{conclusion(said, "")}, nil
}

// offset returns where JSON is broken.
func offset(err error, end int) int64 {
	switch e := err.(type) {
	case *json.SyntaxError:
		return e.Offset
	case *json.UnmarshalTypeError:
		return e.Offset
	}
	return int64(end)
}
