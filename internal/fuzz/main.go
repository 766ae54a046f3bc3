// Command fuzz runs every fuzz target of the module for a while, and fails where one finds
// something or hardly ran: a target that makes less than a thousand executions tests nothing. One
// that did is run again for longer, as the machine may have been busy.
//
//	go run ./internal/fuzz [-time 15s] [-least 1000] [-only REGEXP] [-- FLAGS OF GO TEST]
//
// New inputs are minimised for a few executions, not for a minute as go does by itself: with
// large seeds a target would do nothing else.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	each := flag.Duration("time", 15*time.Second, "how long each target runs")
	least := flag.Int("least", 1000, "executions that each target must make")
	only := flag.String("only", "", "targets whose package and name match, such as 'ingest/.* FuzzRead'")
	flag.Parse()
	if err := run(os.DirFS("."), *each, *least, *only, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(module fs.FS, each time.Duration, least int, only string, flags []string) error {
	which, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	all, err := targets(module)
	if err != nil {
		return err
	}
	ran, failed := 0, []string(nil)
	for _, t := range all {
		if !which.MatchString(t.String()) {
			continue
		}
		ran++
		out, err := t.run(each, flags)
		execs, why := verdict(out, err, least)
		if why == failedText(least) {
			out, err = t.run(rerunFactor*each, flags)
			execs, why = verdict(out, err, least)
		}
		fmt.Printf("%-60s %9d executions %s\n", t, execs, why)
		if why != "" {
			fmt.Println(out)
			failed = append(failed, t.String())
		}
	}
	if ran == 0 {
		return errors.New("no target")
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d targets failed: %s", len(failed), ran, strings.Join(failed, ", "))
	}
	return nil
}

// rerunFactor is how many times as long a target is run again.
const rerunFactor = 4

// target is a fuzz target.
type target struct{ folder, name string }

func (t target) String() string { return t.folder + " " + t.name }

var declared = regexp.MustCompile(`(?m)^func (Fuzz\w*)\(\w+ \*testing\.F\)`)

// targets finds the fuzz targets below a folder, by name.
func targets(module fs.FS) (all []target, err error) {
	err = fs.WalkDir(module, ".", func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == "node_modules" || len(name) > 1 && name[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(module, path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			all = append(all, target{filepath.Dir(path), string(m[1])})
		}
		return err
	})
	slices.SortFunc(all, func(a, b target) int { return strings.Compare(a.String(), b.String()) })
	return all, err
}

// run fuzzes with a target and gives what go wrote.
func (t target) run(each time.Duration, flags []string) (string, error) {
	args := slices.Concat([]string{"test", "-vet=off", "-run", "^$", "-fuzz", "^" + t.name + "$", "-fuzztime", each.String(), "-fuzzminimizetime", "5x"},
		flags, []string{"./" + t.folder})
	out, err := exec.Command("go", args...).CombinedOutput()
	return string(out), err
}

var counted = regexp.MustCompile(`execs: (\d+)`)

// verdict returns how many executions a target made, and why it failed: "" where it did not. That
// go fails at the end of its time with nothing but "context deadline exceeded" is a bug of go
// and no finding.
func verdict(out string, err error, least int) (execs int, why string) {
	if all := counted.FindAllStringSubmatch(out, -1); all != nil {
		execs, _ = strconv.Atoi(all[len(all)-1][1]) // digits
	}
	found := strings.Contains(out, "Failing input written to") || !strings.Contains(out, "context deadline exceeded")
	switch {
	case err != nil && found:
		return execs, fmt.Sprintf("FAILED (%v)", err)
	case execs < least:
		return execs, failedText(least)
	}
	return execs, ""
}

func failedText(least int) string { return fmt.Sprintf("FAILED: less than %d", least) }
