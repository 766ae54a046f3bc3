// Command scenarios turns generated recordings of communication, whose truth is known, into a folder that
// sfstat campaign report reads:
//
//	go run ./eval/campaign/communication/scenarios -scenarios ../shared/data/nccl/dev -o CAMPAIGN
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
		fmt.Fprintln(os.Stderr, "scenarios:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("scenarios", flag.ContinueOnError)
	scenarios := flags.String("scenarios", "", "the folder of generated scenarios")
	out := flags.String("o", "", "the campaign's folder, made if it is not there")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *scenarios == "" || *out == "" {
		return errors.New("needs -scenarios and -o")
	}
	return arrange(*scenarios, *out)
}
