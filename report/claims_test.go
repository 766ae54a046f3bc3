package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/crosscheck"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/diagnose/runs"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/comm/changes"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/engine/overhead"
	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/publish"
	"github.com/sfstat/sfstat/trace/nccl"
)

// claimsFile has values and what is said of each.
const claimsFile = "testdata/claims.txt"

// TestClaims compares what is said of the values of the file: a subject at the margin, below it after one tab a value in JSON, after
// two what is said.
func TestClaims(t *testing.T) {
	text, err := os.ReadFile(claimsFile)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	subject, got := "", ""
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		switch body := strings.TrimLeft(line, "\t"); {
		case *update && len(line) > len(body)+1: // said before
			continue
		case body == "" || body[0] == '#':
		case len(line) == len(body):
			subject = body
		case len(line) == len(body)+1:
			if got, err = claimOf(subject, body); err != nil {
				t.Fatalf("%s:%d: %v", claimsFile, i+1, err)
			}
			if *update {
				line += "\n\t\t" + got
			}
		default:
			if body != got {
				t.Errorf("%s:%d: %q is said, want %q", claimsFile, i+1, got, body)
			}
		}
		fmt.Fprintln(&out, line)
	}
	if *update {
		if err := os.WriteFile(claimsFile, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// claimOf returns what is said of a value in JSON, whose fields have their names in Go: of evidence, a lack, a question, a problem,
// an action by its name, of a saving by its kind, or of a verdict on a run, headline and reason.
func claimOf(subject, value string) (string, error) {
	family, name, _ := strings.Cut(subject, " ")
	switch family {
	case "evidence":
		e, err := observation(name, []byte(value))
		if err != nil {
			return "", err
		}
		return evidenceWords(e), nil
	case "lack":
		return worded(evidence.Lack{Reason: evidence.Reason(name)}, value, lackWords)
	case "question":
		return worded(answer.Undecided{Question: answer.Question(name)}, value, questionWords)
	case "problem":
		return worded(answer.Problem{Problem: answer.ProblemKind(name)}, value, problemWords)
	case "action":
		return worded(answer.Action{Action: answer.ActionKind(name)}, value, actionWords)
	case "note":
		return worded(comm.Note{Kind: comm.NoteKind(name)}, value, noteWords)
	case "subject":
		return worded(evidence.Subject{Scope: evidence.Scope(name)}, value, linkName)
	case "used":
		return worded(parallel.Evidence{Kind: parallel.EvidenceKind(strings.TrimPrefix(name, "for "))}, value, func(e parallel.Evidence) string {
			return communicatorWords(&parallel.Communicator{Ops: []parallel.OpUse{{Op: nccl.AlltoAll, Calls: 30}, {Op: nccl.AllReduce, Calls: 10}}}, e)
		})
	case "arrivals":
		return worded(arrivals.Result{}, value, func(r arrivals.Result) string { return sayArrivals(Arrivals{"job", &r}) })
	case "hang":
		return worded(arrivals.Result{}, value, func(r arrivals.Result) string {
			return pageOf(func(o Output) error { return o.Hang([]Arrivals{{"job", &r}}) })
		})
	case "aside":
		return worded([]string(nil), value, func(said []string) string {
			return pageOf(func(o Output) error { return o.Aside(said) })
		})
	case "fit":
		return worded(frontier.Fit{Why: frontier.FitReason(name)}, value, fitReason)
	case "cut":
		return worded(frontier.Result{CutReason: frontier.CutReason(name)}, value, func(r frontier.Result) string { return cutReason(&r) })
	case "verdict":
		return worded(diagnose.RunVerdict{Run: "job", MinGain: 0.1}, value, func(v diagnose.RunVerdict) string {
			a := answerTo(&v)
			return a.headline() + " Why: " + a.why
		})
	}
	if words, known := accounts[family]; known {
		return words(value)
	}
	return "", fmt.Errorf("no kind of subject %s", family)
}

// accounts say what they can of a value, by the kind of subject.
var accounts = map[string]func(value string) (string, error){
	"overhead": wordsOf(func(a overhead.Account) string {
		return sayOverhead(&a) + " " + sayOverheadBasis(&a)
	}),
	"batch": wordsOf(func(b struct {
		Summary findings.Summary
		Runs    []*findings.Run
	}) string {
		delays := each(b.Runs, func(r *findings.Run) string {
			if r.Worst == nil {
				return "nobody"
			}
			return sayWhoDelays(r.Worst)
		})
		return batchHeadline(&b.Summary, b.Runs) + " Delayed by: " + strings.Join(delays, ", ")
	}),
	"changes": wordsOf(func(r changes.Result) string {
		return changesHeadline(&r) + " " + sayChangesCaption(r.PerStep)
	}),
	"communicator": wordsOf(func(g changes.Group) string { return sayGroup(&g) }),
	"latent":       wordsOf(func(l answer.Latent) string { return strings.TrimSpace(latentLine(&l) + " " + sayLatentTest(&l)) }),
	"comparison": wordsOf(func(c runs.Comparison) string {
		terms := each(comparisonBrief(&c), func(t glyph.Term) string { return t.Name + ": " + t.Text })
		return comparisonHeadline(&c) + " " + strings.Join(append(terms, comparisonDoubts(&c)...), " ")
	}),
	"alike": wordsOf(func(x struct{ N int }) string { return sayAlike(x.N) }),
	"found": wordsOf(func(f runs.Found) string { return sayFound(&f) }),
	"completions": wordsOf(func(x struct {
		Late, Early []int
		Tested      int
		Discovery   float64
		Undecided   string
	}) string {
		return sayCompletions(&completionFinding{x.Late, x.Early, x.Tested, x.Discovery, x.Undecided})
	}),
	"ks": wordsOf(func(r ks.Result) string { return strings.Join(sayCompletionBasis(&r), "; ") }),
	"outliers": wordsOf(func(x struct {
		Result                       zscore.Result
		Series, Certain, Other, Logs int
	}) string {
		return sayFlagged(&x.Result, x.Series, x.Certain) + " " + strings.Join(sayFlagging(&x.Result, x.Series, x.Other, x.Logs), "; ")
	}),
	"names": wordsOf(func(r opnames.Result) string { return sayNameRate(&r) }),
	"blame": wordsOf(func(x struct {
		operators.Walks
		Rank int
	}) string {
		return sayBlame(&x.Walks, x.Rank)
	}),
	"walks": wordsOf(func(b Blame) string { return sayBlameRule(b.Options) + "; " + sayBlameFlags(b.Alpha) }),
	"what-if": wordsOf(func(x WhatIf) string {
		return sayWhatIf(x.Result) + " " + strings.Join(sayWhatIfBasis(x.Result, x.Ideal, len(x.Suspects) > 0), "; ")
	}),
	"replayed": wordsOf(func(o diagnose.Operators) string { return sayReplayed(o.Replay) }),
	"traffic": wordsOf(func(x struct {
		Inputs                              string
		Pairs, Certain, Unmatched, Leftover int
		Sets                                string
	}) string {
		return sayTrafficBasis(&trafficSources{x.Inputs, x.Pairs, x.Certain, x.Unmatched, x.Leftover, x.Sets})
	}),
	"dimension": wordsOf(func(d comm.Dimension) string { return sayDimension(&d) + ": " + sayWhyDimension(&d) }),
	"bubble":    wordsOf(func(a volume.Account) string { return sayBubble(&a) }),
	"steps":     wordsOf(func(s comm.Steps) string { return sayHowSteps(&s) }),
	"sources":   wordsOf(func(c crosscheck.Comparison) string { return sourcesHeadline(&c) + " " + saySourcesBasis(&c) }),
	"account": wordsOf(func(r frontier.Result) string {
		words := sayWindow(&r) + "; " + sayNoStage(&r.Quality)
		if r.BelowFloor() {
			words += "; " + sayTooShort(r.Makespan)
		}
		if len(r.Quality.Missing) > 0 {
			words += "; " + sayNotReported(&r)
		}
		return words
	}),
	"timers": wordsOf(func(d frontier.Device) string { return sayDeviceTimers(&d) }),
	"input": wordsOf(func(x struct {
		Main                            *frontier.Result
		Hosts, Windows, Steps, Part, Of int
		Dropped                         *answer.Problem
	}) string {
		return sayInput(&extent{x.Main, x.Hosts, x.Windows, x.Steps, x.Part, x.Of, x.Dropped})
	}),
	"run": wordsOf(func(v diagnose.RunVerdict) string {
		return strings.TrimSpace(sayEarlier(&v) + " " + sayTraceBeside(&v))
	}),
	"status": wordsOf(func(x struct {
		Status  answer.Status
		Finding *diagnose.Finding
		Name    string
	}) string {
		return sayStatus(x.Status, x.Finding, x.Name)
	}),
	"measure": wordsOf(measureName),
	"whom":    wordsOf(subject),
	"trace": wordsOf(func(x struct {
		Run                            string
		Steps                          []int64
		Workers, All, Replicas, Stages int
		Alike                          bool
	}) string {
		return sayTrace(&crew{x.Run, x.Steps, x.Workers, x.All, x.Replicas, x.Stages, x.Alike})
	}),
	"suspect": wordsOf(func(f diagnose.Finding) string { return saySuspected(&f) }),
	"who":     wordsOf(func(f diagnose.Finding) string { return subjectWord(&f) }),
	"watched": wordsOf(func(x struct {
		Main    *frontier.Result
		Late    *diagnose.Lateness
		MinGain float64
	}) string {
		return sayWatched(x.Main, x.Late, x.MinGain)
	}),
	"aligned": wordsOf(func(offset int64) string { return sayAligned(offset) }),
	"late": wordsOf(func(x struct {
		Claim claim.Claim
		At    arrivals.Place
	}) string {
		return sayLateAt(&x.Claim, &x.At)
	}),
	"clock": wordsOf(func(c struct {
		sync.Clock
		Name string
	}) string {
		return sayClock(&c.Clock, c.Name)
	}),
}

// wordsOf returns words of a value in JSON, from words of the value.
func wordsOf[T any](words func(T) string) func(value string) (string, error) {
	return func(value string) (string, error) {
		var of T
		return worded(of, value, words)
	}
}

// pageOf returns what an output writes as text, in one line.
func pageOf(write func(Output) error) string {
	var out bytes.Buffer
	if err := write(to(&out, Text, Style{Width: 200})); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// worded fills a value from JSON and returns its words.
func worded[T any](of T, value string, words func(T) string) (string, error) {
	if err := setFrom(reflect.ValueOf(&of).Elem(), []byte(value)); err != nil {
		return "", err
	}
	return words(of), nil
}

// observation returns evidence of a kind, filled from JSON.
func observation(kind string, value []byte) (evidence.Observation, error) {
	i := slices.IndexFunc(publish.Observations(), func(e evidence.Observation) bool { return string(e.Kind()) == kind })
	if i < 0 {
		return nil, fmt.Errorf("no evidence %s", kind)
	}
	v := reflect.New(reflect.TypeOf(publish.Observations()[i])).Elem()
	err := setFrom(v, value)
	return v.Interface().(evidence.Observation), err
}

// setFrom sets a value from JSON: structs by the names of their fields in Go, values of closed sets by their names, evidence as an
// object of one field, its kind. It refuses names that there are not.
func setFrom(v reflect.Value, value []byte) error {
	switch {
	case v.Type() == reflect.TypeFor[evidence.Observation]():
		var of map[string]json.RawMessage
		if err := json.Unmarshal(value, &of); err != nil {
			return err
		}
		for kind, fields := range of {
			e, err := observation(kind, fields)
			if err != nil {
				return err
			}
			v.Set(reflect.ValueOf(e))
		}
		return nil
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return setFrom(v.Elem(), value)
	case v.Kind() == reflect.Struct:
		return setStruct(v, value)
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		return setList(v, value)
	case v.Kind() == reflect.Uint8 && value[0] == '"':
		return setNamed(v, strings.Trim(string(value), `"`))
	}
	if v.Kind() == reflect.Float64 && value[0] == '"' { // NaN and infinities, which JSON has not
		x, err := strconv.ParseFloat(strings.Trim(string(value), `"`), 64)
		v.SetFloat(x)
		return err
	}
	return json.Unmarshal(value, v.Addr().Interface())
}

func setStruct(v reflect.Value, value []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(value, &fields); err != nil {
		return fmt.Errorf("%s: %w", value, err)
	}
	for name, x := range fields {
		f := v.FieldByName(name)
		if !f.IsValid() {
			return fmt.Errorf("%s has no %s", v.Type(), name)
		}
		if err := setFrom(f, x); err != nil {
			return err
		}
	}
	return nil
}

func setList(v reflect.Value, value []byte) error {
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		return err
	}
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	}
	for i, x := range items {
		if err := setFrom(v.Index(i), x); err != nil {
			return err
		}
	}
	return nil
}

// setNamed sets a value of a closed set by its name.
func setNamed(v reflect.Value, name string) error {
	for i := range uint64(256) {
		if v.SetUint(i); fmt.Sprint(v.Interface()) == name {
			return nil
		}
	}
	return fmt.Errorf("%s has no %s", v.Type(), name)
}
