package report

import (
	"bytes"
	"testing"
	"time"

	"github.com/sfstat/sfstat/diagnose/runs"
)

// trendRuns are runs a day each, of the given step times in ms; the first day is 0: not known.
func trendRuns(first int64, steps ...float64) []*runs.Run {
	list := comparedRuns("job-", steps...)
	for i, r := range list {
		if first != 0 {
			r.Begin = first + int64(i)*int64(24*time.Hour)
		}
	}
	return list
}

const march = 1_772_323_200 * int64(time.Second) // 2026-03-01 UTC

var trendCases = []struct {
	name     string
	runs     []*runs.Run
	problems []Problem
	headline string
}{
	{"slower", trendRuns(march, 220, 221, 219, 220.5, 219.5, 222, 221.5, 231, 232, 230, 231.5, 232.5, 230.5, 231), nil,
		"Steps became 4.8 % longer between 2026-03-07 and 2026-03-08: 231 ms instead of 220 ms."},
	{"level", trendRuns(0, 220, 221, 219, 220.5, 219.5, 222, 221.5, 219, 221, 220), testProblems(), "No change of step time over 10 runs."},
	{"few", trendRuns(march, 220, 231), nil, "Too few runs: 2 cannot show a change of step time."},
	{"dumps", []*runs.Run{{Name: "\x1b[31m<img src=x>"}}, nil, "No run has step times."},
}

func trendOfCase(t *testing.T, i int) *runs.Trend {
	t.Helper()
	c := trendCases[i]
	if made := trendsMade[c.name]; made != nil {
		return made
	}
	out, err := runs.Follow(c.runs, runs.TrendOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	trendsMade[c.name] = out
	return out
}

var trendsMade = map[string]*runs.Trend{}

func renderedTrends(t *testing.T, format Format, s Style, f func(name string, out []byte)) {
	t.Helper()
	for i, c := range trendCases {
		var out bytes.Buffer
		if err := to(&out, format, s, c.problems...).Trend(trendOfCase(t, i)); err != nil {
			t.Fatalf("trend %s: %v", c.name, err)
		}
		f("trend-"+c.name, out.Bytes())
	}
}

func TestTrendHeadlines(t *testing.T) {
	for i, c := range trendCases {
		if got := trendHeadline(trendOfCase(t, i)); got != c.headline {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, c.headline)
		}
	}
}
