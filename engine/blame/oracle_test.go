package blame

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// node is an operator of fixtures/oracle/blame.json.
type node struct {
	ID         string
	Rank       int
	Start, End int64
	StartFlag  string `json:"start_flag"`
	DurFlag    string `json:"dur_flag"`
	Preds      []string
}

type culprit struct {
	Kind, ID, From, To, Missing string
	CrossRank                   bool `json:"cross_rank"`
}

// graphOf numbers the names in their order, those of lost operators too.
func graphOf(t *testing.T, nodes []node) (Graph, []string) {
	t.Helper()
	var names []string
	for _, n := range nodes {
		names = append(append(names, n.ID), n.Preds...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	id := func(name string) int64 {
		i, _ := slices.BinarySearch(names, name)
		return int64(i) + 1
	}
	flags := map[string]Flag{"normal": Normal, "late": High, "early": Low, "long": High, "short": Low}
	var g Graph
	for _, n := range nodes {
		lateness, ok := flags[n.StartFlag]
		length, ok2 := flags[n.DurFlag]
		if !ok || !ok2 {
			t.Fatalf("flags %q and %q", n.StartFlag, n.DurFlag)
		}
		g.Ops = append(g.Ops, Op{ID: id(n.ID), Rank: n.Rank, Start: n.Start, End: n.End, Lateness: lateness, Length: length})
		for _, p := range n.Preds {
			g.Edges = append(g.Edges, Edge{From: id(p), To: id(n.ID)})
		}
	}
	return g, names
}

// named is the culprit by the names of the fixture.
func (c Culprit) named(names []string) culprit {
	out := culprit{Kind: c.Kind.String(), CrossRank: c.CrossRank}
	op := names[c.Op-1]
	switch c.Kind {
	case Gap, Inconsistent:
		out.From, out.To = names[c.Pred-1], op
	case MissingPred:
		out.ID, out.Missing = op, names[c.Pred-1]
	default:
		out.ID = op
	}
	return out
}

func TestOracle(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "oracle", "blame.json"))
	if err != nil {
		t.Fatal(err)
	}
	type votes struct {
		Culprit  culprit
		Votes    int
		Symptoms []string
	}
	var file struct {
		Cases []struct {
			Name             string
			Nodes            []node
			Symptom          string
			Tie              int64 `json:"tie_ns"`
			Binding, Literal []culprit
		}
		Errors []struct {
			Name           string
			Nodes          []node
			Symptom, Error string
		}
		Ranked []struct {
			Name     string
			Nodes    []node
			Symptoms []string
			Tie      int64 `json:"tie_ns"`
			Binding  []votes
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 || len(file.Errors) == 0 || len(file.Ranked) == 0 {
		t.Fatal("no cases")
	}
	number := func(names []string, name string) int64 {
		i, ok := slices.BinarySearch(names, name)
		if !ok {
			return -1
		}
		return int64(i) + 1
	}
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			g, names := graphOf(t, c.Nodes)
			for semantics, want := range map[Semantics][]culprit{Binding: c.Binding, Literal: c.Literal} {
				r, err := Analyze(g, []int64{number(names, c.Symptom)}, Options{Semantics: semantics, Tie: c.Tie})
				if err != nil {
					t.Fatal(err)
				}
				var got []culprit
				for _, cause := range r.Causes {
					got = append(got, cause.named(names))
				}
				if !slices.Equal(got, want) {
					t.Errorf("semantics %d: %+v, want %+v", semantics, got, want)
				}
				if (len(want) == 0) != (len(r.Unexplained) == 1) {
					t.Errorf("semantics %d: unexplained %v with %d culprits", semantics, r.Unexplained, len(want))
				}
			}
		})
	}
	kinds := map[string]error{"cycle": ErrCycle, "duplicate_id": ErrDuplicate, "bad_time": ErrTime, "unknown_symptom": ErrUnknown}
	for _, c := range file.Errors {
		t.Run(c.Name, func(t *testing.T) {
			g, names := graphOf(t, c.Nodes)
			want := cmp.Or(kinds[c.Error], errors.New("a kind of error that this test does not know"))
			if _, err := Analyze(g, []int64{number(names, c.Symptom)}, Options{}); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		})
	}
	for _, c := range file.Ranked {
		t.Run(c.Name, func(t *testing.T) {
			g, names := graphOf(t, c.Nodes)
			var symptoms []int64
			for _, s := range c.Symptoms {
				symptoms = append(symptoms, number(names, s))
			}
			r, err := Analyze(g, symptoms, Options{Tie: c.Tie})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Causes) != len(c.Binding) {
				t.Fatalf("%d causes, want %d", len(r.Causes), len(c.Binding))
			}
			for i, want := range c.Binding {
				var got []string
				for _, s := range r.Causes[i].Symptoms {
					got = append(got, names[s-1])
				}
				slices.Sort(want.Symptoms)
				if r.Causes[i].named(names) != want.Culprit || len(got) != want.Votes || !slices.Equal(got, want.Symptoms) {
					t.Errorf("cause %d: %+v of %v, want %+v", i, r.Causes[i].named(names), got, want)
				}
			}
		})
	}
}
