package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
)

const hostile = "</script><script>alert(1)</script>\u202e\u009b31m\"\n"

// window is eight steps of two ranks, of which the second delays the other by late ns.
func window(run string, late int64) *trace.Window {
	w := &trace.Window{Run: run, WorldSize: 2, Ranks: []trace.Rank{{ID: 0, Host: "n0"}, {ID: 1, Host: "n1"}}, Schema: trace.Schema{Stages: []string{"data", "model.backward_cpu_wall"}}}
	for range 40 {
		w.Durations = append(w.Durations, 1e6, 1e6+late, 6e6+late, 6e6)
	}
	return w
}

// verdictOn is the verdict on windows.
func verdictOn(t *testing.T, windows ...*trace.Window) *diagnose.Verdict {
	t.Helper()
	s := diagnose.New(diagnose.Options{})
	for _, w := range windows {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	return s.Verdict()
}

// judged is what is kept of the verdict on windows.
func judged(t *testing.T, windows ...*trace.Window) Recorded {
	t.Helper()
	r := Recorded{Problems: []report.Problem{{Path: "x", Err: errors.New(hostile)}, {Path: "y", PassedOver: map[string]int{"text": 2}}}}
	for _, v := range verdictOn(t, windows...).Runs {
		x := Run{Name: v.Run, Status: v.Status, Headline: report.Headline(&v), Windows: len(v.Windows)}
		x.Findings = v.Findings
		if a := v.Answer(); a.First != nil {
			x.Host, x.Certainty, x.Gain = a.First.Host, a.First.Confidence, a.Saving.Run
		}
		r.Runs = append(r.Runs, x)
	}
	return r
}

func named(_ context.Context, run string) ([]byte, error) {
	return fmt.Appendf(nil, "page of %q", run), nil
}

// ask is the answer to a request, of which path is the raw target.
func ask(s *Server, method, target, host string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost/", nil)
	path, query, _ := strings.Cut(target, "?")
	plain, err := url.PathUnescape(path)
	if err != nil {
		panic(err)
	}
	r.URL = &url.URL{Path: plain, RawPath: path, RawQuery: query}
	r.Host = host
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 8080}))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestHosts(t *testing.T) {
	s := New(Options{Hosts: []string{"Monitor.cluster"}, Page: named, JSON: named})
	for host, want := range map[string]int{
		"localhost": 200, "localhost:9999": 200, "LOCALHOST.": 200, "10.0.0.7:8080": 200, "10.0.0.7": 200, "monitor.cluster:80": 200,
		"10.0.0.8": 421, "[::1]:8080": 421, "evil.example": 421, "localhost.evil.example": 421, "": 421, "10.0.0.7.nip.io": 421, "evil.example:8080": 421,
	} {
		for _, path := range []string{"/", "/metrics", "/live.js"} {
			if got := ask(s, "GET", path, host).Code; got != want {
				t.Errorf("%s of host %q: %d, want %d", path, host, got, want)
			}
		}
	}
}

func TestMethods(t *testing.T) {
	s := New(Options{Page: named, JSON: named})
	s.Show(judged(t, window("a", 0)))
	for _, path := range []string{"/", "/run/a", "/page/a", "/api", "/api/run/a", "/metrics", "/events", "/none"} {
		for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "X"} {
			if w := ask(s, method, path, "localhost"); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d", method, path, w.Code)
			}
		}
		if path == "/none" {
			continue
		}
		w := ask(s, "HEAD", path, "localhost")
		if w.Code != 200 || w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("HEAD %s: %d %v", path, w.Code, w.Header())
		}
	}
}

// TestEscapes: what is no run leads nowhere, and is not repeated.
func TestEscapes(t *testing.T) {
	s := New(Options{Page: named, JSON: named})
	s.Show(judged(t, window("a", 0), window("", 0), window("..", 0), window("x/y?z#%2e", 0), window(hostile, 0), window(strings.Repeat("n", 10_000), 0)))
	for _, name := range []string{"../..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%00", "a%00", "a/..", "%5c..%5c", "~", strings.Repeat("q", 10_000), "A", "%3Cscript%3E"} {
		for _, under := range []string{"/run/", "/page/", "/api/run/"} {
			w := ask(s, "GET", under+name, "localhost")
			redirected := w.Code/100 == 3 && !strings.Contains(w.Header().Get("Location"), "..") && strings.HasPrefix(w.Header().Get("Location"), "/")
			if w.Code != 404 && !redirected || strings.Contains(w.Body.String(), "passwd") || strings.Contains(w.Body.String(), "script") {
				t.Errorf("%s%.30s: %d %s %.200s", under, name, w.Code, w.Header().Get("Location"), w.Body)
			}
		}
	}
	index := ask(s, "GET", "/", "localhost").Body.String()
	if strings.Contains(index, "<script>") || strings.ContainsAny(index, "\u202e\u009b") {
		t.Error("a hostile name is markup")
	}
	links := regexp.MustCompile(`href="(/run/[^"]+)"`).FindAllStringSubmatch(index, -1)
	if len(links) != 6 {
		t.Fatalf("%d links, want 6", len(links))
	}
	seen := map[string]bool{}
	for _, link := range links {
		shell := ask(s, "GET", link[1], "localhost")
		inside := ask(s, "GET", strings.Replace(link[1], "/run/", "/page/", 1), "localhost")
		if shell.Code != 200 || inside.Code != 200 || len(link[1]) > 700 || strings.Contains(shell.Body.String(), "<script>") {
			t.Errorf("%.80s: %d, %d", link[1], shell.Code, inside.Code)
		}
		seen[inside.Body.String()] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d pages, want 6", len(seen))
	}
}

func TestIndex(t *testing.T) {
	s := New(Options{Page: named, JSON: named})
	s.Show(judged(t, window("fast", 0), window("slow", 9e6), window("slower", 30e6)))
	for query, want := range map[string]string{"": "slower slow fast", "sort=run": "fast slow slower", "sort=no": "slower slow fast", "q=STRAGGLER+n1": "slower slow", "q=undecided": "", "q=fast": "fast", "q=nowhere": ""} {
		var got []string
		for _, m := range regexp.MustCompile(`href="/run/([^"]+)"`).FindAllStringSubmatch(ask(s, "GET", "/?"+query, "localhost").Body.String(), -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", query, got, want)
		}
	}
	if body := ask(s, "GET", "/", "localhost").Body.String(); strings.Contains(body, "<progress") {
		t.Error("all is read, and progress is shown")
	}
	reading := judged(t, window("fast", 0))
	reading.Read, reading.Of = 3, 7
	s.Show(reading)
	if body := ask(s, "GET", "/", "localhost").Body.String(); !strings.Contains(body, "3 of 7 inputs") {
		t.Error("no progress while inputs are read")
	}
	s.Show(judged(t, window("fast", 0), window("slow", 9e6), window("slower", 30e6)))
	healthy := row{Status: "no_straggler", Headline: "No straggler of 10 % or more"}
	if healthy.matches("straggler") || !healthy.matches("no_straggler 10") {
		t.Error("a status is found by a part of it")
	}
	s.Fail("gone <b>")
	if body := ask(s, "GET", "/", "localhost").Body.String(); !strings.Contains(body, "gone &lt;b&gt;") || !strings.Contains(body, "slower") {
		t.Error("a path that cannot be read is not shown beside the runs that can")
	}
}

// TestTimes: the column of times is there where a run has one, also if a search shows only runs without.
func TestTimes(t *testing.T) {
	s := New(Options{Page: named, JSON: named})
	r := judged(t, window("fast", 0), window("slow", 9e6))
	s.Show(r)
	if body := ask(s, "GET", "/", "localhost").Body.String(); strings.Contains(body, `class="when"`) {
		t.Error("no run has a time, and there is a column of times")
	}
	r.Runs[1].When = time.Date(2026, 5, 14, 12, 45, 1, 0, time.UTC)
	s.Show(r)
	for _, query := range []string{"/", "/?q=fast"} {
		body := ask(s, "GET", query, "localhost").Body.String()
		if heads, cells, rows := strings.Count(body, `<th class="when">`), strings.Count(body, `<td class="when">`), strings.Count(body, `href="/run/`); heads != 1 || cells != rows || rows == 0 {
			t.Errorf("%s: %d headings and %d times in %d rows", query, heads, cells, rows)
		}
	}
	if body := ask(s, "GET", "/", "localhost").Body.String(); !strings.Contains(body, `<td class="when">2026-05-14 12:45</td>`) {
		t.Error("the time of a run is not shown")
	}
}

// TestGain: what saves nothing, a hang for one, shows no share of the run.
func TestGain(t *testing.T) {
	for gain, want := range map[float64]string{0: "", 0.0004: "", 0.0006: "0.1 %", 0.361: "36.1 %"} {
		if got := (&Run{Gain: gain}).row().Gain; got != want {
			t.Errorf("%v: %q, want %q", gain, got, want)
		}
	}
	if got := (&Run{}).row().Gain; got != "" {
		t.Errorf("a run without a finding: %q, want nothing", got)
	}
}

// TestRow: a row has the answer in words, how certain it is, how long a step is and the line
// of that; a healthy run names nobody.
func TestRow(t *testing.T) {
	r := Run{Status: answer.SlowEverywhere, Host: "n1", Certainty: evidence.Supported, Step: 207e6, Line: []float64{100, 100, 1000, 100}}
	want := row{Path: "~e3b0c44298fc1c14", Status: "slow_everywhere", Certainty: "supported", Host: "n1", Step: "207 ms", Line: "0.0,11.5 33.3,11.5 66.7,1.0 100.0,11.5",
		certainty: evidence.Supported, step: 207e6}
	if got := r.row(); got != want || got.Answer() != "slow everywhere" {
		t.Errorf("%+v, want %+v", got, want)
	}
	r.Host, r.Certainty, r.Line = "", evidence.Insufficient, r.Line[:1]
	if got := r.row(); got.Host+got.Certainty+got.Line != "" {
		t.Errorf("%+v of a healthy run with a line of one point", got)
	}
	s := New(Options{Page: named, JSON: named})
	r.Why = "last in 9 of 10"
	if got := r.row(); !got.matches("last") {
		t.Errorf("%+v is not found by why it says so", got)
	}
	s.Show(Recorded{Recurring: []string{"n1 <b> delays"}})
	if body := ask(s, "GET", "/", "localhost").Body.String(); !strings.Contains(body, "n1 &lt;b&gt; delays") {
		t.Error("what recurs is not shown")
	}
}

// TestMetrics: each sample is what the JSON says, of so many runs.
func TestMetrics(t *testing.T) {
	windows := []*trace.Window{window("fast", 0), window(`s"l\o`+"w", 9e6), window("slower", 30e6)}
	all := verdictOn(t, windows...)
	s := New(Options{MetricsRuns: 2, JSON: func(context.Context, string) ([]byte, error) {
		var b bytes.Buffer
		err := report.Output{W: &b, Format: report.JSON}.Verdict(all)
		return b.Bytes(), err
	}})
	s.Show(judged(t, windows...))
	type run struct {
		Run, Status string
		Findings    []struct {
			Rank        *int
			Host, Stage *string
			Gain        float64 `json:"run_gain"`
			Cause       string
			Confidence  string
			Step        int64 `json:"step_ns"`
			Explained   int64 `json:"explained_ns"`
		}
		Windows []any
	}
	var v struct {
		run
		Others []run `json:"other_runs"`
	}
	if err := json.Unmarshal(ask(s, "GET", "/api", "localhost").Body.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	text := ask(s, "GET", "/metrics", "localhost").Body.String()
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	runs, counted := append(v.Others, v.run), 0
	for _, r := range runs {
		counted += len(r.Windows)
	}
	want := []string{fmt.Sprintf("sfstat_windows %d\n", counted), "sfstat_runs 3\n", "sfstat_problems 1\n", "sfstat_stale 0\n"}
	for _, r := range runs {
		if r.Run == "fast" {
			continue
		}
		f := r.Findings[0]
		want = append(want, fmt.Sprintf("sfstat_run_status{run=%q,status=%q} 1\n", r.Run, r.Status),
			fmt.Sprintf("sfstat_gain_ratio{run=%q} %s\n", r.Run, number(f.Gain)),
			fmt.Sprintf("sfstat_step_seconds{run=%q} %s\n", r.Run, number(float64(f.Step)/1e9)),
			fmt.Sprintf("sfstat_finding_info{run=%q,rank=\"%d\",stage=%q,number=\"0\",host=%q,cause=%q,certainty=%q} 1\n", r.Run, *f.Rank, *f.Stage, *f.Host, f.Cause, f.Confidence),
			fmt.Sprintf("sfstat_wait_seconds_total{run=%q,rank=\"%d\",stage=%q} %s\n", r.Run, *f.Rank, *f.Stage, number(float64(f.Explained)/1e9)))
	}
	for _, sample := range want {
		if !strings.Contains(text, "\n"+sample) {
			t.Errorf("no %s in\n%s", sample, text)
		}
	}
	if strings.Contains(text, "fast") {
		t.Error("a third run has metrics")
	}
}

// TestKept: a page is made once for each verdict on its run, and those that were asked
// for last are kept.
func TestKept(t *testing.T) {
	var made atomic.Int64
	s := New(Options{Page: func(context.Context, string) ([]byte, error) { made.Add(1); return make([]byte, mostKept/3), nil }})
	runs := func(version uint64) Recorded {
		r := judged(t, window("a", 0), window("b", 0), window("c", 0), window("d", 0))
		for i := range r.Runs {
			if r.Runs[i].Name == "a" {
				r.Runs[i].Version = version
			}
		}
		return r
	}
	s.Show(runs(1))
	expect := func(path string, want int64) {
		t.Helper()
		if ask(s, "GET", path, "localhost"); made.Load() != want {
			t.Errorf("%s: %d made, want %d", path, made.Load(), want)
		}
	}
	expect("/page/a", 1)
	expect("/page/a", 1)
	expect("/page/b", 2)
	expect("/page/c", 3)
	expect("/page/a", 3)
	expect("/page/d", 4) // four do not fit: b was asked for longest ago
	expect("/page/a", 4)
	expect("/page/b", 5)
	s.Show(runs(1))
	expect("/page/a", 5)
	s.Show(runs(2))
	expect("/page/b", 5)
	expect("/page/a", 6)
	if s.kept.bytes() > mostKept {
		t.Errorf("%d bytes kept, at most %d may be", s.kept.bytes(), mostKept)
	}
}

// TestTooMany: that all runs are too many for one JSON is no fault of the server.
func TestTooMany(t *testing.T) {
	s := New(Options{JSON: func(context.Context, string) ([]byte, error) { return nil, ErrTooMany }})
	if w := ask(s, "GET", "/api", "localhost"); w.Code != 413 || !strings.Contains(w.Body.String(), "/api/run/NAME") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// What is longer than all that is kept is made once for all who ask, and goes when something else is asked for.
func TestLarge(t *testing.T) {
	var made atomic.Int64
	s := New(Options{Page: func(context.Context, string) ([]byte, error) { made.Add(1); return make([]byte, mostKept+1), nil }})
	s.Show(judged(t, window("a", 0), window("b", 0)))
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if n := ask(s, "GET", "/page/a", "localhost").Body.Len(); n != mostKept+1 {
				t.Errorf("%d bytes, want %d", n, mostKept+1)
			}
		})
	}
	if all.Wait(); made.Load() != 1 || len(s.kept) != 1 {
		t.Errorf("%d made for three who ask, want 1; %d kept", made.Load(), len(s.kept))
	}
	if ask(s, "GET", "/page/b", "localhost"); made.Load() != 2 || len(s.kept) != 1 {
		t.Errorf("%d made, want 2; %d kept, want 1", made.Load(), len(s.kept))
	}
}

// TestEvents: the version comes at once, and with each change.
func TestEvents(t *testing.T) {
	s := New(Options{Page: named, JSON: named})
	web := httptest.NewServer(s)
	defer web.Close()
	answer, err := http.Get(web.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	next := func() (version uint64) {
		t.Helper()
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				version, err := strconv.ParseUint(text, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				return version
			}
		}
		t.Fatal("the stream ended")
		return 0
	}
	first := next()
	s.Show(judged(t, window("a", 0)))
	if got := next(); got != first+1 {
		t.Errorf("version %d after %d", got, first)
	}
	s.Fail("x")
	s.Fail("x") // is no change
	if got := next(); got != first+2 {
		t.Errorf("version %d, want %d", got, first+2)
	}
	if body := ask(s, "GET", "/", "localhost").Body.String(); !strings.Contains(body, fmt.Sprintf(`data-version="%d"`, first+2)) {
		t.Error("the index is of another version")
	}
}

// TestPanics: a page that panics is an error of that page, in one line, and the next is made.
func TestPanics(t *testing.T) {
	s := New(Options{JSON: named, Page: func(_ context.Context, run string) ([]byte, error) {
		if run == "a" {
			panic("boom")
		}
		return []byte("page"), nil
	}})
	s.Show(Recorded{Runs: []Run{{Name: "a"}, {Name: "b"}}})
	w := ask(s, http.MethodGet, "/page/a", "localhost")
	if body := w.Body.String(); w.Code != http.StatusInternalServerError || body != "this is a bug in sfstat, please report it: boom\n" {
		t.Errorf("%d %q", w.Code, body)
	}
	if w := ask(s, http.MethodGet, "/page/b", "localhost"); w.Code != http.StatusOK {
		t.Errorf("the next page: %d %s", w.Code, w.Body)
	}
}

// TestFilters: each answer and each host is a link to its runs with what they save, which keeps what else was asked for; what is on leads
// back to all; of many hosts one that is chosen stays.
func TestFilters(t *testing.T) {
	runs := []Run{{Name: "a", Status: answer.Straggler, Host: "n1", Gain: 0.1, Why: "<b>last</b>"}, {Name: "b", Status: answer.Straggler, Host: "n1", Gain: 0.25},
		{Name: "c", Status: answer.SlowEverywhere}, {Name: "d", Status: answer.Straggler, Host: "n2", Gain: 0.5}}
	s := New(Options{Page: named, JSON: named})
	s.Show(Recorded{Runs: runs})
	for query, want := range map[string]string{"host=n1": "b a", "status=slow+everywhere": "c", "host=n1&status=slow+everywhere": "", "host=n": "", "status=straggler&sort=run": "a b d"} {
		var got []string
		for _, m := range regexp.MustCompile(`href="/run/([^"]+)"`).FindAllStringSubmatch(ask(s, "GET", "/?"+query, "localhost").Body.String(), -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", query, got, want)
		}
	}
	body := ask(s, "GET", "/?host=n1&q=a", "localhost").Body.String()
	for _, want := range []string{`<a href="/?q=a" aria-current="true">n1 <b>2</b> up to 25.0 %</a> <a href="/?host=n2&amp;q=a">n2 <b>1</b> up to 50.0 %</a>`,
		`<a href="/?host=n1&amp;q=a&amp;status=slow&#43;everywhere">slow everywhere <b>1</b></a>`, `<a href="/?host=n1&amp;q=a&amp;sort=steps">`, `<span class="why">&lt;b&gt;last&lt;/b&gt;</span>`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	for i := range 2 * mostHosts {
		runs = append(runs, Run{Name: fmt.Sprint("m", i), Host: fmt.Sprintf("many%02d", i)})
	}
	s.Show(Recorded{Runs: runs})
	body = ask(s, "GET", fmt.Sprintf("/?host=many%d", 2*mostHosts-1), "localhost").Body.String()
	if !strings.Contains(body, fmt.Sprintf(`aria-current="true">many%d`, 2*mostHosts-1)) || strings.Contains(body, "host=many40") {
		t.Errorf("without the host that is chosen, or with one too many: %s", body)
	}
}
