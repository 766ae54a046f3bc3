package serve

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/internal/glyph"
)

// metrics are in the text format of Prometheus, version 0.0.4. Runs have series of
// their own as far as Options.MetricsRuns goes, those that cost most first.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) error {
	now, _ := s.current()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(now.metrics(s.o.MetricsRuns)) // to a client that may be gone
	return nil
}

func (s *state) metrics(most int) []byte {
	var status, gain, step, finding, wait, b bytes.Buffer
	windows, refused := 0, 0
	for i := range s.Runs {
		r := &s.Runs[i]
		windows += r.Windows
		if i >= most {
			continue
		}
		run := label("run", keyOf(r.Name))
		fmt.Fprintf(&status, "sfstat_run_status{%s,%s} 1\n", run, label("status", r.Status.String()))
		fmt.Fprintf(&gain, "sfstat_gain_ratio{%s} %s\n", run, number(r.gain()))
		waits := make(map[[2]string]int64)
		for n := range r.Findings {
			f, rank := &r.Findings[n], ""
			if !f.Flagged() || n >= mostFindings {
				continue
			}
			if f.Rank != nil {
				rank = strconv.Itoa(*f.Rank)
			}
			if n == 0 && f.Step > 0 {
				fmt.Fprintf(&step, "sfstat_step_seconds{%s} %s\n", run, number(float64(f.Step)/1e9))
			}
			stage := bounded(f.Stage)
			at := run + "," + label("rank", rank) + "," + label("stage", stage)
			fmt.Fprintf(&finding, "sfstat_finding_info{%s,%s,%s,%s,%s} 1\n", at, label("number", strconv.Itoa(n)), label("host", bounded(f.Host)), label("cause", f.Cause.String()), label("certainty", f.Confidence.String()))
			waits[[2]string{rank, stage}] += f.Explained
		}
		for _, at := range slices.SortedFunc(maps.Keys(waits), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
			fmt.Fprintf(&wait, "sfstat_wait_seconds_total{%s,%s,%s} %s\n", run, label("rank", at[0]), label("stage", at[1]), number(float64(waits[at])/1e9))
		}
	}
	for _, p := range s.Problems {
		if len(p.PassedOver) == 0 {
			refused++
		}
	}
	stale := 0
	if s.Failure != "" {
		stale = 1
	}
	family(&b, "sfstat_run_status", "gauge", "The answer to a run; 1 at the status that it has.", status.Bytes())
	family(&b, "sfstat_gain_ratio", "gauge", "Part of the run's time that fixing its first finding would save.", gain.Bytes())
	family(&b, "sfstat_step_seconds", "gauge", "Length of a step that the first finding struck.", step.Bytes())
	family(&b, "sfstat_finding_info", "gauge", "What a run may be acted on for: certain and large enough; number 0 costs most.", finding.Bytes())
	family(&b, "sfstat_wait_seconds_total", "counter", "Exposed time that findings explain, over all steps that they struck.", wait.Bytes())
	for _, total := range []struct {
		name, help string
		n          int
	}{
		{"sfstat_runs", "Runs, those without series of their own included.", len(s.Runs)},
		{"sfstat_windows", "Windows of all runs.", windows},
		{"sfstat_problems", "Inputs that were refused.", refused},
		{"sfstat_unread", "Inputs that are still to be read for the first time.", s.Of - s.Read},
		{"sfstat_stale", "1 while a path that was named cannot be read.", stale},
	} {
		family(&b, total.name, "gauge", total.help, fmt.Appendf(nil, "%s %d\n", total.name, total.n))
	}
	return b.Bytes()
}

func family(b *bytes.Buffer, name, kind, help string, samples []byte) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	b.Write(samples)
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// mostFindings is how many findings of a run have series.
const mostFindings = 4

var inLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func label(name, value string) string { return name + `="` + inLabel.Replace(value) + `"` }

// bounded is the value of a label that names something of the input.
func bounded(name string) string {
	if name == "" {
		return ""
	}
	if len(name) > mostName {
		return keyOf(name)
	}
	return glyph.Visible(name)
}
