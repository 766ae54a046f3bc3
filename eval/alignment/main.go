// Command alignment turns generated recordings of communication, whose truth is known, into a folder that
// sfstat campaign tables and plots read; and measures what time of processors an alignment takes by its length, for plots to draw:
//
//	go run ./eval/alignment -scenarios ../shared/data/nccl/dev -o CAMPAIGN
//	go run ./eval/alignment -lengths CAMPAIGN/measured/alignment-by-length.csv
//
// A scenario is a folder of logs, exports and truth.json. In CAMPAIGN/communication it becomes a folder of links to the
// logs and exports, with truth.csv, and model.yaml where the run is one of a transformer.
//
// The tests of this folder score the engines themselves on the same scenarios.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "alignment:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("alignment", flag.ContinueOnError)
	scenarios := flags.String("scenarios", "", "the folder of generated scenarios")
	out := flags.String("o", "", "with -scenarios, the campaign's folder, made if it is not there")
	lengths := flags.String("lengths", "", "measure times by length, and write them here")
	most := flags.Int("most", 20_000, "with -lengths: up to this many operations")
	times := flags.Int("times", 3, "with -lengths: how often each is measured")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case *lengths != "":
		return measure(*lengths, *most, *times)
	case *scenarios == "" || *out == "":
		return errors.New("needs -scenarios and -o, or -lengths")
	}
	return arrange(*scenarios, *out)
}
