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

// object is one of JSON.
type object = map[string]any

// Metrics returns the body of a request to v1/metrics.
func (e Export) Metrics(samples []Sample) ([]byte, error) {
	var of [len(families)][]object
	for _, s := range samples {
		of[s.Family] = append(of[s.Family], object{"attributes": attributes(s.Labels), "timeUnixNano": e.now(), "asDouble": s.Value})
	}
	var all []object
	for i, f := range families {
		m := object{"name": f.name, "description": f.help, "unit": f.unit}
		switch {
		case of[i] == nil:
			continue
		case f.counter: // cumulative (2)
			m["sum"] = object{"dataPoints": of[i], "aggregationTemporality": 2, "isMonotonic": true}
		default:
			m["gauge"] = object{"dataPoints": of[i]}
		}
		all = append(all, m)
	}
	return e.request("resourceMetrics", "scopeMetrics", object{"metrics": all})
}

// Severities of OpenTelemetry.
const (
	info    = 9
	warning = 13
)

// Verdicts returns the body of a request to v1/logs: an event for each run.
func (e Export) Verdicts(runs []diagnose.RunVerdict) ([]byte, error) {
	records := make([]object, 0, len(runs))
	for i := range runs {
		v := &runs[i]
		severity, labels := info, []Label{{"sfstat.run", Key(v.Run)}, {"sfstat.status", v.Status.String()}}
		if len(v.Findings) > 0 && v.Findings[0].IsFlagged() {
			f := &v.Findings[0]
			severity = warning
			labels = append(labels, Label{"sfstat.rank", rankOf(f)}, Label{"sfstat.stage", limitLabel(f.Stage)}, Label{"sfstat.host", limitLabel(f.Host)},
				Label{"sfstat.cause", f.Cause.String()}, Label{"sfstat.certainty", f.Confidence.String()}, Label{"sfstat.gain_ratio", strconv.FormatFloat(f.RunGain, 'g', 4, 64)})
		}
		records = append(records, object{"timeUnixNano": e.now(), "observedTimeUnixNano": e.now(), "severityNumber": severity, "eventName": "sfstat.verdict",
			"body": text(glyph.Visible(report.Headline(v))), "attributes": attributes(labels)})
	}
	return e.request("resourceLogs", "scopeLogs", object{"logRecords": records})
}

// request wraps what one resource and one scope have.
func (e Export) request(resources, scopes string, of object) ([]byte, error) {
	of["scope"] = object{"name": "github.com/sfstat/sfstat", "version": e.Version}
	return json.Marshal(object{resources: []object{{"resource": object{"attributes": attributes(e.Resource)}, scopes: []object{of}}}})
}

func (e Export) now() string { return strconv.FormatInt(e.Now.UnixNano(), 10) }

func text(value string) object { return object{"stringValue": value} }

func attributes(of []Label) []object {
	out := make([]object, len(of))
	for i, l := range of {
		out[i] = object{"key": l.Name, "value": text(l.Value)}
	}
	return out
}
