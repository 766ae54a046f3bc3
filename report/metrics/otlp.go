package metrics

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/report"
)

// Export writes the requests of OTLP/HTTP in JSON.
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
type Export struct {
	Resource []Label // who sends
	Version  string  // of the program
	Now      time.Time
}

const scope = "github.com/sfstat/sfstat"

type attribute struct {
	Key   string `json:"key"`
	Value text   `json:"value"`
}

type text struct {
	String string `json:"stringValue"`
}

type instrumentation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type resource struct {
	Attributes []attribute `json:"attributes"`
}

type point struct {
	Attributes []attribute `json:"attributes"`
	Time       string      `json:"timeUnixNano"`
	Value      float64     `json:"asDouble"`
}

type points struct {
	Points []point `json:"dataPoints"`
}

// sum is cumulative (2) and monotonic.
type sum struct {
	points
	Temporality int  `json:"aggregationTemporality"`
	Monotonic   bool `json:"isMonotonic"`
}

type metric struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Unit        string  `json:"unit"`
	Gauge       *points `json:"gauge,omitempty"`
	Sum         *sum    `json:"sum,omitempty"`
}

// Metrics is the body of a request to v1/metrics.
func (e Export) Metrics(samples []Sample) ([]byte, error) {
	var of [len(families)][]point
	for _, s := range samples {
		of[s.Family] = append(of[s.Family], point{attributes(s.Labels), e.now(), s.Value})
	}
	var all []metric
	for i, f := range families {
		m := metric{Name: f.name, Description: f.help, Unit: f.unit}
		switch {
		case of[i] == nil:
			continue
		case f.counter:
			m.Sum = &sum{points{of[i]}, 2, true}
		default:
			m.Gauge = &points{of[i]}
		}
		all = append(all, m)
	}
	type scoped struct {
		Scope   instrumentation `json:"scope"`
		Metrics []metric        `json:"metrics"`
	}
	type one struct {
		Resource resource `json:"resource"`
		Scopes   []scoped `json:"scopeMetrics"`
	}
	return json.Marshal(map[string][]one{"resourceMetrics": {{resource{attributes(e.Resource)}, []scoped{{instrumentation{scope, e.Version}, all}}}}})
}

// Severities of OpenTelemetry.
const (
	info    = 9
	warning = 13
)

type logged struct {
	Time       string      `json:"timeUnixNano"`
	Observed   string      `json:"observedTimeUnixNano"`
	Severity   int         `json:"severityNumber"`
	Event      string      `json:"eventName"`
	Body       text        `json:"body"`
	Attributes []attribute `json:"attributes"`
}

// Verdicts is the body of a request to v1/logs: an event for each run.
func (e Export) Verdicts(runs []diagnose.RunVerdict) ([]byte, error) {
	records := make([]logged, 0, len(runs))
	for i := range runs {
		v := &runs[i]
		l := logged{Time: e.now(), Observed: e.now(), Severity: info, Event: "sfstat.verdict", Body: text{glyph.Visible(report.Headline(v))}}
		labels := []Label{{"sfstat.run", Key(v.Run)}, {"sfstat.status", v.Status.String()}}
		if len(v.Findings) > 0 && v.Findings[0].Flagged() {
			f := &v.Findings[0]
			l.Severity = warning
			labels = append(labels, Label{"sfstat.rank", rankOf(f)}, Label{"sfstat.stage", bounded(f.Stage)}, Label{"sfstat.host", bounded(f.Host)},
				Label{"sfstat.cause", f.Cause.String()}, Label{"sfstat.certainty", f.Confidence.String()}, Label{"sfstat.gain_ratio", strconv.FormatFloat(f.RunGain, 'g', 4, 64)})
		}
		l.Attributes = attributes(labels)
		records = append(records, l)
	}
	type scoped struct {
		Scope   instrumentation `json:"scope"`
		Records []logged        `json:"logRecords"`
	}
	type one struct {
		Resource resource `json:"resource"`
		Scopes   []scoped `json:"scopeLogs"`
	}
	return json.Marshal(map[string][]one{"resourceLogs": {{resource{attributes(e.Resource)}, []scoped{{instrumentation{scope, e.Version}, records}}}}})
}

func (e Export) now() string { return strconv.FormatInt(e.Now.UnixNano(), 10) }

func attributes(of []Label) []attribute {
	out := make([]attribute, len(of))
	for i, l := range of {
		out[i] = attribute{l.Name, text{l.Value}}
	}
	return out
}
