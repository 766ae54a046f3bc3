package main

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// received is what a collector was sent. It decodes as the protocol defines its messages: an
// unknown field is an error.
type received struct {
	mu      sync.Mutex
	metrics []*metricspb.ResourceMetrics
	logs    []*logspb.ResourceLogs
	failed  []string
}

func (r *received) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(q.Body)
	var m metricspb.MetricsData
	var l logspb.LogsData
	switch {
	case err != nil:
	case q.Method != http.MethodPost || q.Header.Get("Content-Type") != "application/json" || q.Header.Get("Api-Key") != "a b":
		r.failed = append(r.failed, q.Method+" with another header")
	case q.URL.Path == "/v1/metrics":
		err = protojson.Unmarshal(body, &m)
	case q.URL.Path == "/v1/logs":
		err = protojson.Unmarshal(body, &l)
	default:
		r.failed = append(r.failed, q.URL.Path)
	}
	if err != nil {
		r.failed = append(r.failed, err.Error())
	}
	r.metrics, r.logs = append(r.metrics, m.ResourceMetrics...), append(r.logs, l.ResourceLogs...)
	_, _ = w.Write([]byte("{}"))
}

// points are the numbers of metrics, by name and values of attributes.
func points(t *testing.T, of []*metricspb.ResourceMetrics) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, r := range of {
		for _, m := range r.ScopeMetrics[0].Metrics {
			counter := strings.HasSuffix(m.Name, "_total")
			if s := m.GetSum(); counter != (s != nil && s.IsMonotonic && s.AggregationTemporality == metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE) {
				t.Errorf("%s is %v", m.Name, m.Data)
			}
			for _, p := range append(m.GetGauge().GetDataPoints(), m.GetSum().GetDataPoints()...) {
				if p.TimeUnixNano == 0 {
					t.Errorf("%s has no time", m.Name)
				}
				out[m.Name+" "+attributesOf(p.Attributes)] = p.GetAsDouble()
			}
		}
	}
	return out
}

func attributesOf(of []*commonpb.KeyValue) string {
	var out []string
	for _, a := range of {
		out = append(out, a.Key+"="+a.Value.GetStringValue())
	}
	return strings.Join(out, " ")
}

func TestOTLP(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.pod.name=trainer-0,service.name=another")
	t.Setenv("OTEL_SERVICE_NAME", "llm")
	var got received
	server := httptest.NewServer(&got)
	defer server.Close()
	recording := filepath.Join(root, "fixtures", "ddp", "host-callback-r8-s0.jsonl")
	code, text, said := runArgs(t, nil, "diagnose", recording, "--otlp", server.URL, "--format", "json")
	if code != 0 || got.failed != nil || len(got.metrics) != 1 || len(got.logs) != 1 {
		t.Fatalf("%d, %s, %q: %d and %d", code, said, got.failed, len(got.metrics), len(got.logs))
	}
	var v struct {
		Headline string
		Findings []struct {
			Gain      float64 `json:"run_gain"`
			Step      float64 `json:"step_ns"`
			Explained float64 `json:"explained_ns"`
		}
		Coverage []struct {
			Stage string
			Hides float64 `json:"hides_ns"`
		}
		Windows []struct {
			Steps  int
			Stages []struct {
				Name    string
				Advance float64 `json:"advance_ns"`
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	const run = "run=host-callback-r8-s0"
	want := map[string]float64{
		"sfstat_run_status " + run + " status=straggler":                        1,
		"sfstat_gain_ratio " + run:                                              v.Findings[0].Gain,
		"sfstat_step_seconds " + run:                                            v.Findings[0].Step / 1e9,
		"sfstat_wait_seconds_total " + run + " rank=2 stage=callbacks.cpu_wall": v.Findings[0].Explained / 1e9,
		"sfstat_finding_info " + run + " rank=2 stage=callbacks.cpu_wall number=0 host=node0 cause=late certainty=strong": 1,
	}
	for _, s := range v.Windows[0].Stages {
		want["sfstat_stage_seconds "+run+" stage="+s.Name] = s.Advance / 1e9 / float64(v.Windows[0].Steps)
	}
	for _, c := range v.Coverage {
		if c.Hides > 0 {
			want["sfstat_unseen_seconds "+run+" stage="+c.Stage] = c.Hides / 1e9
		}
	}
	sent := points(t, got.metrics)
	for name, x := range want {
		if y, ok := sent[name]; !ok || math.Abs(x-y) > 1e-8 {
			t.Errorf("%s is %v, want %v", name, y, x)
		}
	}
	if len(sent) != len(want) || len(want) != 12 {
		t.Errorf("sent %v\nwant %v", sent, want)
	}
	if x := sent["sfstat_stage_seconds "+run+" stage=data.next_wait"]; math.Abs(x-0.0161) > 5e-5 { // as the table of the verdict has it
		t.Errorf("a step waits %v s for data", x)
	}
	if at := attributesOf(got.metrics[0].Resource.Attributes); at != "k8s.pod.name=trainer-0 service.name=llm service.version="+programVersion() {
		t.Errorf("resource %q", at)
	}
	l := got.logs[0].ScopeLogs[0].LogRecords[0]
	if l.Body.GetStringValue() != v.Headline || l.SeverityNumber != logspb.SeverityNumber_SEVERITY_NUMBER_WARN || l.EventName != "sfstat.verdict" ||
		!strings.Contains(attributesOf(l.Attributes), "sfstat.rank=2 sfstat.stage=callbacks.cpu_wall sfstat.host=node0") {
		t.Errorf("event %v", l)
	}
}

// TestOTLPOfWatch: metrics come with every window, an event where the verdict changes.
func TestOTLPOfWatch(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b")
	var got received
	server := httptest.NewServer(&got)
	defer server.Close()
	code, _, said := runArgs(t, nil, "watch", filepath.Join(root, "fixtures", "ddp", "nofault-r8-s0.jsonl"), "--every", "10ms", "--idle", "30ms", "--otlp", server.URL)
	if code != 0 || got.failed != nil || len(got.metrics) == 0 || len(got.logs) != 1 {
		t.Fatalf("%d, %s, %q: %d and %d", code, said, got.failed, len(got.metrics), len(got.logs))
	}
	if l := got.logs[0].ScopeLogs[0].LogRecords[0]; l.SeverityNumber != logspb.SeverityNumber_SEVERITY_NUMBER_INFO {
		t.Errorf("event %v", l)
	}
	sent := points(t, got.metrics)
	hides := sent["sfstat_unseen_seconds run=nofault-r8-s0 stage=model.backward_cpu_wall"]
	if sent["sfstat_run_status run=nofault-r8-s0 status=unseen"] != 1 || hides < 0.11 || hides > 0.12 {
		t.Errorf("sent %v, want status unseen, and 118 ms of backward", sent)
	}
}

// TestOTLPOfWatchLater: an event that the collector had no time for comes later, once, with the time at which the
// verdict was new; one that it refuses for good does not.
func TestOTLPOfWatchLater(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b")
	for _, c := range []struct {
		path         string
		status, want int
	}{{"/v1/logs", 503, 1}, {"/v1/metrics", 503, 1}, {"/v1/metrics", 404, 1}, {"/v1/logs", 400, 0}} {
		var got received
		answered := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if q.URL.Path == c.path {
				if answered++; answered == 1 {
					w.WriteHeader(c.status)
					return
				}
			}
			got.ServeHTTP(w, q)
		}))
		before := time.Now()
		code, _, said := runArgs(t, nil, "watch", filepath.Join(root, "fixtures", "ddp", "host-callback-r8-s0.jsonl"), "--every", "10ms", "--idle", "30ms", "--otlp", server.URL)
		server.Close()
		if code != 0 || got.failed != nil || len(got.logs) != c.want || !strings.Contains(said, c.path+" answers "+strconv.Itoa(c.status)) {
			t.Errorf("%v: %d, %q, %q: %d events", c, code, said, got.failed, len(got.logs))
			continue
		}
		for _, l := range got.logs {
			if r := l.ScopeLogs[0].LogRecords[0]; r.TimeUnixNano < uint64(before.UnixNano()) || !strings.HasPrefix(r.Body.GetStringValue(), "Rank 2") {
				t.Errorf("%v: event %v", c, r)
			}
		}
	}
}

func TestOTLPFails(t *testing.T) {
	answer := func(status int, text string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text))
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	recording := filepath.Join(root, "fixtures", "ddp", "host-callback-r8-s0.jsonl")
	for _, c := range []struct {
		args []string
		code int
		said string
	}{
		{[]string{"--otlp", "localhost:4318"}, exitBadInput, "is no address of a collector"},
		{[]string{"--otlp", closed.URL}, exitBadInput, "connection refused"},
		{[]string{"--otlp", answer(404, "nothing\x1b here")}, exitBadInput, `answers 404 Not Found, expected 200: is it a collector's address for OTLP over HTTP, which often has port 4318? nothing\x1b here`},
		{[]string{"--otlp", answer(307, "")}, exitBadInput, "answers 307"},
		{[]string{"--otlp", answer(200, `{"partialSuccess":{"rejectedDataPoints":"2","errorMessage":"too old"}}`)}, exitBadInput, "rejects a part: too old"},
		{[]string{"--otlp", closed.URL, "--fail-on", "strong"}, exitFinding, "connection refused"},
	} {
		code, text, said := runArgs(t, nil, append([]string{"diagnose", recording}, c.args...)...)
		if code != c.code || !strings.Contains(said, c.said) {
			t.Errorf("%q: %d, %q", c.args, code, said)
		}
		if !strings.Contains(c.said, "no address") && !strings.Contains(text, "Rank 2") {
			t.Errorf("%q: the verdict is not printed", c.args)
		}
	}
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a,secret")
	if code, _, said := runArgs(t, nil, "diagnose", recording, "--otlp", closed.URL); code != exitBadInput || !strings.Contains(said, "OTEL_EXPORTER_OTLP_HEADERS: entry 2") || strings.Contains(said, "secret") {
		t.Errorf("%d, %q", code, said)
	}
}
