package web

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/page"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
)

const hostile = "</script><script>alert(1)</script>\u202e\u009b31m"

// written is the page of a window whose run, host and stage have a name.
func written(t *testing.T, name string) string {
	t.Helper()
	w := &trace.Window{Run: name, WorldSize: 2, Ranks: []trace.Rank{{ID: 0, Host: name}, {ID: 1, Host: name}}, Schema: trace.Schema{Stages: []string{name, "b"}}}
	for range 8 {
		w.Durations = append(w.Durations, 1e6, 5e6, 6e6, 2e6)
	}
	s, b := diagnose.New(diagnose.Options{}), page.New(frontier.Options{})
	if err := s.Add(w); err != nil {
		t.Fatal(err)
	}
	if err := b.Add(w); err != nil {
		t.Fatal(err)
	}
	v := s.Verdict()
	var out bytes.Buffer
	drawn, err := b.Page(v)
	if err != nil {
		t.Fatal(err)
	}
	d := Document{Version: "v0", Words: report.Output{}.VerdictHTML(v), Page: drawn,
		Verdict: func(w io.Writer) error { return report.Output{W: w, Format: report.JSON}.Verdict(v) }}
	if err := d.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// part is what stands in the one element that begins so.
func part(t *testing.T, text, begin, end string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, begin)
	inside, _, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("no %s", begin)
	}
	return inside
}

// TestHostileNames: a name is neither markup nor the end of a script, steers no
// terminal and turns no text around.
func TestHostileNames(t *testing.T) {
	text := written(t, hostile)
	if n := strings.Count(text, "<script"); n != 3 {
		t.Errorf("%d scripts, want 3", n)
	}
	for _, bad := range []string{"alert(1)</script>", "\u202e", "\u009b"} {
		outside := strings.Replace(text, part(t, text, `id="page">`, "</script>"), "", 1)
		if strings.Contains(outside, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
}

// TestPolicy: the policy admits exactly the script and the style that are there.
func TestPolicy(t *testing.T) {
	text := written(t, "job")
	policy := html.UnescapeString(part(t, text, `http-equiv="Content-Security-Policy" content="`, `"`))
	for _, inside := range []string{part(t, text, "<script>", "</script>"), part(t, text, "<style>", "</style>")} {
		if want := hash(inside); !strings.Contains(policy, "'"+want+"'") {
			t.Errorf("the policy %s lacks %s", policy, want)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %s", policy)
	}
	if urls := regexp.MustCompile(`(?:src|href)="?https?:`).FindString(text); urls != "" {
		t.Errorf("the page refers to %s", urls)
	}
}

// TestData: the page holds its values and the JSON of the verdict, packed.
func TestData(t *testing.T) {
	text := written(t, hostile)
	var data struct {
		Lead int        `json:"lead"`
		Runs []page.Run `json:"runs"`
	}
	if err := json.Unmarshal([]byte(part(t, text, `id="page">`, "</script>")), &data); err != nil {
		t.Fatal(err)
	}
	if len(data.Runs) != 1 || data.Runs[0].Stages[0].Name != glyph.Visible(hostile) {
		t.Errorf("stages %+v", data.Runs)
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(part(t, text, `id="verdict">`, "</script>"))))
	if err != nil {
		t.Fatal(err)
	}
	var verdict struct {
		Schema, Run string
	}
	if err := json.NewDecoder(z).Decode(&verdict); err != nil || verdict.Schema != "sfstat.verdict/4" || verdict.Run != hostile {
		t.Errorf("%+v, %v", verdict, err)
	}
}

func TestLicence(t *testing.T) {
	if !strings.Contains(script, "The MIT License (MIT)") || !strings.Contains(script, "Leon Sorokin") {
		t.Error("the script lacks the licence of uPlot")
	}
}
