package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// packages are those that judge, which a lot is drawn over.
var packages = []string{"engine/blame", "engine/bootstrap", "engine/clock", "engine/delay", "engine/frontier", "engine/frontier/labels",
	"engine/gates", "engine/ks", "engine/points", "engine/zscore", "diagnose"}

// tests are the runs of go test that look at a mutant of a folder, the quickest first; of another folder its own. A mutant
// that one of them finds is not shown to the next.
var tests = map[string][][]string{
	"engine/delay":           {{"./engine/delay"}, {"./engine/frontier"}, script},
	"engine/points":          {{"./engine/points"}, {"./engine/delay"}, {"./engine/frontier"}, script},
	"engine/frontier":        {{"./engine/frontier"}, script},
	"engine/frontier/labels": {{"./engine/frontier/labels"}, {"./engine/frontier"}, script},
	"engine/gates":           {{"./engine/gates"}, {"./engine/frontier"}, {"./engine/delay"}, script},
	"diagnose":               {{"./diagnose"}, script},
}

// script are verdicts and accounts as a user sees them.
var script = []string{"-run", "TestScripts/(diagnose|frontier)$", "./cmd/sfstat"}

func (t *tester) testsOf(folder string) [][]string {
	if all, ok := tests[folder]; ok && !t.own {
		return all
	}
	return [][]string{{"./" + folder}}
}

// fate of a mutant.
type fate int

const (
	alive fate = iota
	killed
	timedOut
	notCompiled
)

// result is a mutant with its fate, and by which tests it was found.
type result struct {
	*mutant
	fate fate
	by   string
}

// tester runs tests of mutants.
type tester struct {
	flags  []string
	own    bool
	folder string                   // of overlays
	limits map[string]time.Duration // of runs of tests, by their arguments
}

func newTester(o options) (*tester, error) {
	folder, err := os.MkdirTemp("", "mutants")
	return &tester{flags: o.flags, own: o.own, folder: folder, limits: make(map[string]time.Duration)}, err
}

func (t *tester) close() { _ = os.RemoveAll(t.folder) }

const (
	// leastLimit and slower bound how long tests run with a mutant, which may never end: that long, or so many times as long as
	// without one on the same machine.
	leastLimit, slower = 30 * time.Second, 6
	// unmutated is how long tests run at most without a mutant, and grace what compiling takes at most, on a busy machine.
	unmutated, grace = 10 * time.Minute, 5 * time.Minute
)

// run runs tests with an overlay, "" for none.
func (t *tester) run(ctx context.Context, args []string, overlay string) (fate, string) {
	limit, how := unmutated, []string{"-count=1"}
	if overlay != "" {
		limit, how = t.limits[strings.Join(args, " ")], []string{"-overlay", overlay}
	}
	line := append(how, "-vet=off", "-failfast", "-p", "1", "-timeout", limit.String(), "-exec", "env -u GOGC")
	ctx, stop := context.WithTimeout(ctx, limit+grace)
	defer stop()
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"test"}, line, t.flags, args)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	out, err := cmd.CombinedOutput()
	text := string(out)
	switch {
	case err == nil:
		return alive, text
	case strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]"):
		return notCompiled, text
	case ctx.Err() != nil || strings.Contains(text, "panic: test timed out"):
		return timedOut, text
	}
	return killed, text
}

// check runs the tests of the mutants' packages without a mutant. It reports those that fail, beside which nothing can be found, and
// notes how long they take, compiling among it.
func (t *tester) check(ctx context.Context, list []*mutant) error {
	for _, m := range list {
		for _, args := range t.testsOf(m.folder()) {
			key, begin := strings.Join(args, " "), time.Now()
			if t.limits[key] > 0 {
				continue
			}
			if fate, out := t.run(ctx, args, ""); fate != alive {
				return fmt.Errorf("go test %s fails as it is:\n%s", key, out)
			}
			t.limits[key] = max(leastLimit, slower*time.Since(begin))
		}
	}
	return nil
}

// test returns what becomes of a mutant.
func (t *tester) test(ctx context.Context, m *mutant, worker int) (result, error) {
	file, overlay := filepath.Join(t.folder, fmt.Sprint(worker, ".go")), filepath.Join(t.folder, fmt.Sprint(worker, ".json"))
	path, err := filepath.Abs(m.File)
	if err != nil {
		return result{}, err
	}
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{path: file}})
	if err != nil {
		return result{}, err
	}
	if err := os.WriteFile(file, m.text, 0o600); err != nil {
		return result{}, err
	}
	if err := os.WriteFile(overlay, replaced, 0o600); err != nil {
		return result{}, err
	}
	for _, args := range t.testsOf(m.folder()) {
		if fate, _ := t.run(ctx, args, overlay); fate != alive {
			return result{m, fate, args[len(args)-1]}, nil
		}
	}
	return result{m, alive, ""}, nil
}

// each tests mutants, several at a time, until as many as wanted compiled, or ctx ends: those under way do not count then. Which they are does not depend on how many are tested
// at a time: one more begins only where one less would be too few.
func (t *tester) each(ctx context.Context, list []*mutant, o options) (out []result) {
	var mu sync.Mutex
	var group sync.WaitGroup
	settled := sync.NewCond(&mu)
	running, begin := 0, time.Now()
	take := func() *mutant {
		mu.Lock()
		defer mu.Unlock()
		for len(out)+running >= o.n && running > 0 {
			settled.Wait()
		}
		if len(out)+running >= o.n {
			return nil
		}
		if len(list) == 0 || ctx.Err() != nil || o.time > 0 && time.Since(begin) > o.time {
			return nil
		}
		m := list[0]
		list = list[1:]
		running++
		return m
	}
	for worker := range max(1, o.threads) {
		group.Go(func() {
			for m := take(); m != nil; m = take() {
				r, err := t.test(ctx, m, worker)
				mu.Lock()
				running--
				switch {
				case ctx.Err() != nil:
				case err != nil:
					fmt.Fprintln(os.Stderr, "mutants:", err)
				case r.fate == notCompiled && o.list == "":
				case r.fate == notCompiled:
					fmt.Fprintf(os.Stderr, "mutants: %v does not compile\n", m)
				default:
					out = append(out, r)
					if r.fate == alive {
						fmt.Fprintf(os.Stderr, "alive: %v\n", m)
					}
				}
				settled.Broadcast()
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return out
}
