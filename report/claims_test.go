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
	"text/template"
	"text/template/parse"
	"unicode"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/crosscheck"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/diagnose/runs"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/comm/changes"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/overhead"
	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/publish"
	"github.com/sfstat/sfstat/trace/nccl"
)

// claimsFile has values and what is said of each.
const claimsFile = "testdata/claims.txt"

// TestClaims: every sentence of the file is what its value says, and every piece of text in a block is said of some value and,
// where it depends on one, left out for another. A block with a new piece and no such values fails.
func TestClaims(t *testing.T) {
	pieces := watchSentences(t)
	sayClaims(t)
	for name, s := range pieces {
		if missing := s.missing(); missing != "" {
			t.Errorf("%s: %s", name, missing)
		}
	}
}

// sayClaims compares what is said of the values of the file: a subject at the margin, below it after one tab a value in JSON, after
// two what is said.
func sayClaims(t *testing.T) {
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
		return worded(arrivals.Result{}, value, func(r arrivals.Result) string { return say("arrivals", Arrivals{"job", &r}) })
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
	"overhead": toldOf(func(a overhead.Account) string {
		return overheadHeadline(&a) + " " + say("overhead basis", &a)
	}),
	"batch": toldOf(func(b struct {
		Summary findings.Summary
		Runs    []*findings.Run
	}) string {
		delays := each(b.Runs, func(r *findings.Run) string {
			if r.Worst == nil {
				return "nobody"
			}
			return say("who delays", r.Worst)
		})
		return batchHeadline(&b.Summary, b.Runs) + " Delayed by: " + strings.Join(delays, ", ")
	}),
	"changes": toldOf(func(r changes.Result) string {
		return changesHeadline(&r) + " " + say("changes caption", &r)
	}),
	"communicator": toldOf(func(g changes.Group) string { return say("changed group", g) }),
	"latent":       toldOf(func(l answer.Latent) string { return strings.TrimSpace(latentLine(&l) + " " + say("latent test", &l)) }),
	"comparison": toldOf(func(c runs.Comparison) string {
		terms := each(comparisonBrief(&c), func(t glyph.Term) string { return t.Name + ": " + t.Text })
		return comparisonHeadline(&c) + " " + strings.Join(append(terms, comparisonDoubts(&c)...), " ")
	}),
	"alike": toldOf(func(x struct{ N int }) string { return say("alike", x) }),
	"found": toldOf(func(f runs.Found) string { return say("found", &f) }),
	"completions": toldOf(func(x struct {
		Found     []int
		Late      []int
		Early     []int
		Tested    int
		Discovery float64
		Undecided string
	}) string {
		return say("completions", x)
	}),
	"ks": toldOf(func(c Completions) string {
		return strings.Join(told(c, "ks windows", "ks clock", "ks against", "ks test"), "; ")
	}),
	"outliers": toldOf(func(x struct {
		Outliers
		Expected             *float64
		Certain, Other, Logs int
	}) string {
		return say("outliers", x) + " " + strings.Join(told(x, "zscore method", "zscore logarithms", "zscore other"), "; ")
	}),
	"names": toldOf(func(r opnames.Result) string { return say("names rate", &r) }),
	"blame": toldOf(func(x struct {
		operators.Walks
		In   string
		Rank int
	}) string {
		return say("blame", x)
	}),
	"walks": toldOf(func(b Blame) string { return strings.Join(told(b, "blame rule", "blame flags"), "; ") }),
	"what-if": toldOf(func(x WhatIf) string {
		return say("what if", x) + " " + strings.Join(told(x, "what if ideal", "what if fit", "what if worst", "what if fixes"), "; ")
	}),
	"replayed": toldOf(func(o diagnose.Operators) string { return say("replayed", &o) }),
	"traffic": toldOf(func(x struct {
		*comm.Result
		Pairs, Certain int
		Inputs, Sets   string
	}) string {
		return say("traffic basis", x)
	}),
	"dimension": toldOf(func(d comm.Dimension) string { return say("dimension", d) + ": " + say("why dimension", d) }),
	"bubble":    toldOf(func(a volume.Account) string { return say("bubble", a) }),
	"steps":     toldOf(func(s comm.Steps) string { return say("steps "+s.Source.String(), &s) }),
	"sources":   toldOf(func(c crosscheck.Comparison) string { return sourcesHeadline(&c) + " " + say("sources basis", &c) }),
	"account": toldOf(func(r frontier.Result) string {
		words := say("account", &r) + "; " + say("time in no stage", r.Quality)
		if r.BelowFloor() {
			words += "; " + say("too short", &r)
		}
		if len(r.Quality.Missing) > 0 {
			words += "; " + say("not reported", &r)
		}
		return words
	}),
	"timers": toldOf(func(d frontier.Device) string { return say("device timers", &d) }),
	"input": toldOf(func(x struct {
		Main                            *frontier.Result
		Hosts, Windows, Steps, Part, Of int
		Dropped                         *answer.Problem
	}) string {
		return say("input", x)
	}),
	"run": toldOf(func(v diagnose.RunVerdict) string { return strings.Join(told(&v, "earlier", "beside it"), " ") }),
	"status": toldOf(func(x struct {
		Status  answer.Status
		Finding *diagnose.Finding
		Name    string
	}) string {
		return say("run status", x)
	}),
	"measure": toldOf(measureName),
	"whom":    toldOf(subject),
	"trace": toldOf(func(x struct {
		*operators.View
		Run          string
		Steps        []int64
		Workers, All int
		Alone        bool
	}) string {
		return say("trace title", x)
	}),
	"suspect": toldOf(func(f diagnose.Finding) string { return say("suspected", &f) }),
	"who":     toldOf(func(f diagnose.Finding) string { return whoWord(&f) }),
	"watched": toldOf(func(x struct {
		*diagnose.Window
		Late    *diagnose.Lateness
		MinGain float64
	}) string {
		return say("watched", x)
	}),
	"aligned": toldOf(func(offset int64) string { return say("clocks aligned", offset) }),
	"late":    toldOf(func(l lateAt) string { return say("arrives late", l) }),
	"clock": toldOf(func(c struct {
		sync.Clock
		Name string
	}) string {
		return say("clock of", c)
	}),
}

// toldOf returns words of a value in JSON, from words of the value.
func toldOf[T any](words func(T) string) func(value string) (string, error) {
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

// said are the pieces of text of a block, by what renderings of the block do with each.
type said struct {
	pieces      []string
	conditional []bool
	with        []bool // said in a rendering
	without     []bool // left out of one
	chosen      bool   // the block claims nothing of a value: its name is the value that it is said of, or it is advice
}

// missing says what no value tests, the first piece only; "" where all are.
func (s *said) missing() string {
	if s.chosen {
		return ""
	}
	for i, piece := range s.pieces {
		if !s.with[i] {
			return fmt.Sprintf("no value of %s has %q said", claimsFile, piece)
		}
		if s.conditional[i] && !s.without[i] {
			return fmt.Sprintf("no value of %s leaves %q out", claimsFile, piece)
		}
	}
	return ""
}

// watchSentences makes every block count which of its pieces are said, while sentences are rendered.
func watchSentences(t *testing.T) map[string]*said {
	t.Helper()
	all := map[string]*said{}
	for name := range blocks() {
		if strings.HasPrefix(name, "table ") {
			continue
		}
		s := &said{chosen: !strings.Contains(sentence(name), "{{") || name == "on" || strings.HasPrefix(name, "action ")}
		all[name] = s
		tree := template.Must(template.New(name).Funcs(sentenceFunctions).Funcs(s.counters()).Parse(sentence(name)))
		s.watch(unwrapped(tree.Root), false)
		s.with, s.without = make([]bool, len(s.pieces)), make([]bool, len(s.pieces))
		tree.Root.Nodes = slices.Concat([]parse.Node{counter("begin")}, tree.Root.Nodes, []parse.Node{counter("finish")})
		parsed.Store(name, tree)
	}
	t.Cleanup(parsed.Clear)
	return all
}

// unwrapped returns the list of a block of which all depends on one value that is there or not: the value is what it is about.
func unwrapped(list *parse.ListNode) *parse.ListNode {
	var only *parse.WithNode
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.WithNode:
			if only != nil || n.ElseList != nil {
				return list
			}
			only = n
		case *parse.ActionNode:
			if len(n.Pipe.Decl) == 0 {
				return list
			}
		case *parse.TextNode:
			if strings.ContainsFunc(string(n.Text), unicode.IsLetter) {
				return list
			}
		default:
			return list
		}
	}
	if only == nil {
		return list
	}
	return unwrapped(only.List)
}

// counters returns what the counting actions of a block call.
func (s *said) counters() template.FuncMap {
	var now [][]bool // of the renderings that are under way: a block may say itself
	return template.FuncMap{
		"begin": func() string { now = append(now, make([]bool, len(s.pieces))); return "" },
		"mark":  func(i int) string { now[len(now)-1][i] = true; return "" },
		"finish": func() string {
			for i, hit := range now[len(now)-1] {
				s.with[i], s.without[i] = s.with[i] || hit, s.without[i] || !hit
			}
			now = now[:len(now)-1]
			return ""
		},
	}
}

// counter returns an action that calls a counter.
func counter(call string) parse.Node {
	return template.Must(template.New("").Funcs(new(said).counters()).Parse("{{" + call + "}}")).Root.Nodes[0]
}

// watch puts a mark behind every piece of text that has a letter.
func (s *said) watch(list *parse.ListNode, conditional bool) {
	if list == nil {
		return
	}
	var out []parse.Node
	for _, n := range list.Nodes {
		out = append(out, n)
		switch n := n.(type) {
		case *parse.TextNode:
			if strings.ContainsFunc(string(n.Text), unicode.IsLetter) {
				out = append(out, counter(fmt.Sprintf("mark %d", len(s.pieces))))
				s.pieces, s.conditional = append(s.pieces, string(n.Text)), append(s.conditional, conditional)
			}
		case *parse.IfNode:
			s.watch(n.List, true)
			s.watch(n.ElseList, true)
		case *parse.WithNode:
			s.watch(n.List, true)
			s.watch(n.ElseList, true)
		case *parse.RangeNode:
			s.watch(n.List, conditional)
			s.watch(n.ElseList, true)
		}
	}
	list.Nodes = out
}
