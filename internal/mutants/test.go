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
	folder string            // of overlays and of the tests' programs
	suites map[string]*suite // by the folder of mutants and the arguments of go test
}

func newTester(o options) (*tester, error) {
	folder, err := os.MkdirTemp("", "mutants")
	return &tester{flags: o.flags, own: o.own, folder: folder, suites: make(map[string]*suite)}, err
}

func (t *tester) close() { _ = os.RemoveAll(t.folder) }

// suitesOf returns the suites that look at the mutants of a folder, the quickest first.
func (t *tester) suitesOf(folder string) (out []*suite) {
	for _, args := range t.testsOf(folder) {
		key := folder + " " + strings.Join(args, " ")
		if t.suites[key] == nil {
			t.suites[key] = &suite{folder: folder, args: args}
		}
		out = append(out, t.suites[key])
	}
	return out
}

const (
	// leastLimit and slower bound how long tests run with a mutant, which may never end: that long, or so many times as long as
	// without one on the same machine.
	leastLimit, slower = 30 * time.Second, 6
	// unmutated is how long tests run at most without a mutant, and grace what compiling takes at most, on a busy machine.
	unmutated, grace = 10 * time.Minute, 5 * time.Minute
)

// build compiles the tests of a package into a program of that name. It returns what the compiler says where it fails.
func (t *tester) build(ctx context.Context, program, path string, more ...string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, grace)
	defer stop()
	args := slices.Concat([]string{"test", "-c", "-o", program, "-vet=off", "-p", "1"}, t.flags, more, []string{path})
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// execute runs tests in the folder of their package.
func (t *tester) execute(ctx context.Context, limit time.Duration, program, path string, args ...string) (fate, string) {
	ctx, stop := context.WithTimeout(ctx, limit+grace)
	defer stop()
	cmd := exec.CommandContext(ctx, program, slices.Concat([]string{"-test.failfast", "-test.timeout", limit.String()}, args)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = path, append(os.Environ(), "GOMAXPROCS=1", "GOGC=400"), grace
	out, err := cmd.CombinedOutput()
	switch text := string(out); {
	case err == nil:
		return alive, text
	case ctx.Err() != nil || strings.Contains(text, "panic: test timed out"):
		return timedOut, text
	default:
		return killed, text
	}
}

// check runs the tests of the mutants' packages without a mutant. It reports those that fail, beside which nothing can be found, and
// learns which of them take long.
func (t *tester) check(ctx context.Context, list []*mutant) error {
	for _, m := range list {
		for _, s := range t.suitesOf(m.folder()) {
			if s.limit > 0 {
				continue
			}
			if err := t.learn(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// learn runs the tests of a suite without a mutant, then those that take long one by one, to see what code each reaches.
func (t *tester) learn(ctx context.Context, s *suite) error {
	program, profile := filepath.Join(t.folder, "unmutated.test"), filepath.Join(t.folder, "profile")
	var cover []string
	if s.runsAll() {
		cover = []string{"-cover", "-coverpkg=./" + s.folder}
	}
	if out, err := t.build(ctx, program, s.path(), cover...); err != nil {
		return fmt.Errorf("the tests of %s do not compile as they are: %w\n%s", s.path(), err, out)
	}
	begin := time.Now()
	fate, out := t.execute(ctx, unmutated, program, s.path(), append(s.options(), "-test.v")...)
	if fate != alive {
		return fmt.Errorf("go test %s fails as it is:\n%s", strings.Join(s.args, " "), out)
	}
	s.limit = max(leastLimit, slower*time.Since(begin))
	if !s.runsAll() {
		return nil
	}
	for _, name := range slow(out) {
		if fate, out := t.execute(ctx, unmutated, program, s.path(), "-test.run", pattern(name), "-test.coverprofile", profile); fate != alive {
			return fmt.Errorf("%s of %s fails by itself:\n%s", name, s.path(), out)
		}
		text, err := os.ReadFile(profile)
		if err != nil {
			return err
		}
		s.slow = append(s.slow, slowTest{name, coveredLines(string(text))})
	}
	return nil
}

// test returns what becomes of a mutant.
func (t *tester) test(ctx context.Context, m *mutant, worker int) (result, error) {
	base := filepath.Join(t.folder, fmt.Sprint(worker))
	file, overlay, program := base+".go", base+".json", base+".test"
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
	for _, s := range t.suitesOf(m.folder()) {
		if _, err := t.build(ctx, program, s.path(), "-overlay", overlay); err != nil {
			return result{m, notCompiled, ""}, nil
		}
		for _, options := range s.runs(m) {
			if fate, _ := t.execute(ctx, s.limit, program, s.path(), options...); fate != alive {
				return result{m, fate, s.path()}, nil
			}
		}
	}
	return result{m, alive, ""}, nil
}

// testAll tests mutants, several at a time, until as many as wanted compiled, or ctx ends: those under way do not count then. Which they are does not depend on how many are tested
// at a time: one more begins only where one less would be too few.
func (t *tester) testAll(ctx context.Context, list []*mutant, o options) (out []result) {
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
