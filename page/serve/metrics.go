package serve

import (
	"net/http"

	"github.com/sfstat/sfstat/report/metrics"
)

// metrics answers with metrics in the text format of Prometheus. Runs have series of their own as far as
// Options.MetricsRuns goes, those that cost most first.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) error {
	now, _ := s.current()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(metrics.Text(now.samples(s.o.MetricsRuns))) // to a client that may be gone
	return nil
}

func (s *state) samples(most int) (out []metrics.Sample) {
	windows, refused, stale := 0, 0, 0
	for i := range s.Runs {
		r := &s.Runs[i]
		windows += r.Windows
		if i < most {
			of := metrics.Run{Name: r.Name, Status: r.Status, Findings: r.Findings, Stages: r.Stages, Coverage: r.Coverage}
			out = append(out, of.Samples()...)
		}
	}
	for _, p := range s.Problems {
		if len(p.PassedOver) == 0 {
			refused++
		}
	}
	if s.Failure != "" {
		stale = 1
	}
	for family, n := range map[metrics.Family]int{metrics.Runs: len(s.Runs), metrics.Windows: windows, metrics.Problems: refused, metrics.Unread: s.Of - s.Read, metrics.Stale: stale} {
		out = append(out, metrics.Sample{Family: family, Value: float64(n)})
	}
	return out
}
