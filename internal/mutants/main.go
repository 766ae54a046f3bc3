// Command mutants measures how many small errors in the code the tests find. It draws mutants of the
// packages that judge (a comparison turned, a constant 1.2 or 2 times as large, a statement left out)
// and runs, for each, the tests of its package, then those of the packages that rest on it. A mutant
// that no test fails on is alive: a test is missing there, or the code does nothing.
//
//	go run ./internal/mutants [-n 200] [-seed N] [-j 2] [-time 20m] [-only REGEXP] [-- FLAGS OF GO TEST]
//	go run ./internal/mutants -list internal/mutants/judge.yaml [-- FLAGS OF GO TEST]
//
// The first draws by lot: places in the code are equally likely, and so are the errors at one place. Of one
// seed and one source the mutants are the same. What does not compile is drawn again, and so is what
// equivalent.yaml names as equal to the code, with the reason. The second runs the mutants of a file. No
// source is touched: go test reads the mutated file as an overlay.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"time"
)

// options of a run.
type options struct {
	n          int
	seed       uint64
	list       string // file of mutants to run in place of a lot
	equivalent string // file of mutants that are equal to the code
	only       *regexp.Regexp
	threads    int
	own        bool          // the first tests of a package alone
	time       time.Duration // after which no mutant begins; 0: all do
	flags      []string      // of go test
}

func main() {
	o := options{}
	only := flag.String("only", "", "files whose path matches, such as 'engine/(delay|points)'")
	flag.IntVar(&o.n, "n", 200, "mutants to draw")
	flag.Uint64Var(&o.seed, "seed", 0, "seed of the lot; 0: another one each time")
	flag.StringVar(&o.list, "list", "", "YAML file of mutants to run in place of a lot")
	flag.StringVar(&o.equivalent, "equivalent", "internal/mutants/equivalent.yaml", "YAML file of mutants that are equal to the code")
	flag.IntVar(&o.threads, "j", runtime.NumCPU(), "mutants that are tested at a time")
	flag.BoolVar(&o.own, "own", false, "run the tests of the mutant's package alone, and of no other")
	flag.DurationVar(&o.time, "time", 0, "time after which no mutant begins; what was tested until then is reported. 0: all begin")
	flag.Parse()
	o.flags = flag.Args()
	var err error
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if o.only, err = regexp.Compile(*only); err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run tests mutants and prints what became of them; of those that were tested before an interrupt.
func run(ctx context.Context, o options) error {
	list, err := source(&o)
	if err != nil {
		return err
	}
	t, err := newTester(o)
	if err != nil {
		return err
	}
	defer t.close()
	if len(list) == 0 {
		return errors.New("no mutant: nothing matches -only")
	}
	begin := time.Now()
	if err := t.check(ctx, list); err != nil {
		return err
	}
	results := t.testAll(ctx, list, o)
	fmt.Print(summary(results))
	fmt.Printf("%d of %d mutants in %s\n", len(results), o.n, time.Since(begin).Round(time.Second))
	return nil
}

// source returns the mutants to test, in order: those of a list, or a lot of which as many count as compile first.
func source(o *options) ([]*mutant, error) {
	if o.list != "" {
		list, err := readMutants(o.list)
		o.n = len(list)
		return list, err
	}
	places, err := find(packages, o.only)
	if err != nil {
		return nil, err
	}
	known, err := equivalents(o.equivalent)
	if err != nil {
		return nil, err
	}
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	fmt.Printf("seed %d: %d mutants of %d places\n", o.seed, o.n, len(places))
	return lot(places, known, rand.New(rand.NewPCG(o.seed, 0))), nil
}

// lot returns one error for each place, in random order, without the known equivalents.
func lot(places [][]*mutant, known map[identity]bool, g *rand.Rand) (out []*mutant) {
	for _, i := range g.Perm(len(places)) {
		if m := places[i][g.IntN(len(places[i]))]; !known[m.identity] {
			out = append(out, m)
		}
	}
	return out
}
