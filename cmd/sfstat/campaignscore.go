package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/eval/campaign/tables"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// scoreTables are the tables of recordings by the name that --table has.
var scoreTables = []struct {
	name string
	of   func(*tables.Score, tables.View) *table.Table
}{
	{"methods", (*tables.Score).MethodTable},
	{"routing", (*tables.Score).RoutingTable},
	{"forward", (*tables.Score).ForwardTable},
	{"cuts", (*tables.Score).CutTable},
	{"verdicts", (*tables.Score).VerdictTable},
	{"detectability", func(s *tables.Score, _ tables.View) *table.Table { return s.DetectabilityTable() }},
	{"healthy", func(s *tables.Score, _ tables.View) *table.Table { return s.HealthyTable() }},
	{"sweep", (*tables.Score).SweepTable},
	{"runs", func(s *tables.Score, _ tables.View) *table.Table { return s.RunTable() }},
	{"windows", func(s *tables.Score, _ tables.View) *table.Table { return s.WindowTable() }},
}

// summaries are the tables that are shown without --table.
var summaries = []string{"methods", "routing", "cuts", "verdicts", "healthy"}

// scoreFlags are for recordings with a truth table.
func scoreFlags() []cli.Flag {
	names := []string{""}
	for _, t := range scoreTables {
		names = append(names, t.name)
	}
	return []cli.Flag{
		&cli.StringFlag{Name: "truth", Category: forInput, Usage: "what the recordings hide: the truth table `FILE` (CSV), as sfstat simulate writes it"},
		&cli.StringFlag{Name: "by", Value: tables.ByFamily.String(), Usage: "group recordings by `KEYS`: family, pattern, delay, ranks, arrivals, separated by commas"},
		choice("table", "show one table only, of recordings; CSV shows windows unless told otherwise", names...),
		&cli.BoolFlag{Name: "published", Usage: "show what the paper reports next to what recordings show"},
	}
}

// score shows how often accounts and verdicts on recordings are right.
func (p *program) score(c *cli.Context, truthTable string) error {
	keys, err := tables.ParseKeys(c.String("by"))
	if err != nil {
		return badUsage("--by: %v", err)
	}
	truth, err := readTruth(truthTable)
	if err != nil {
		return err
	}
	gates, err := loadGates(c)
	if err != nil {
		return err
	}
	scorer := tables.New(truth, tables.Options{Gates: &gates})
	if _, err := p.windows(c, func(w *trace.Window) error { return ofWindow(w, scorer.Add(w)) }); err != nil {
		return err
	}
	s := scorer.Score()
	if n := len(s.Unknown); n > 0 {
		p.say("%s: %s not in the truth table: %s", c.Command.HelpName, counted(n, "run"), strings.Join(s.Unknown, ", "))
	}
	if len(s.Runs) == 0 {
		return badInput(fmt.Errorf("no run of the input is in %s", truthTable))
	}
	shown := chosenTables(c, s, tables.View{By: keys, Published: c.Bool("published")})
	return p.publish(c, nil, func(to report.Output) error {
		if to.Format == report.JSON {
			return to.JSON(s)
		}
		return to.Tables(shown...)
	})
}

// chosenTables are those that the flags ask for.
func chosenTables(c *cli.Context, s *tables.Score, v tables.View) []*table.Table {
	wanted := summaries
	if c.String("format") == report.CSV.String() {
		wanted = []string{"windows"}
	}
	if one := c.String("table"); one != "" {
		wanted = []string{one}
	}
	var out []*table.Table
	for _, name := range wanted {
		for _, t := range scoreTables {
			if t.name == name {
				out = append(out, t.of(s, v))
			}
		}
	}
	return out
}

// readTruth reads a truth table, which must have rows.
func readTruth(path string) ([]simulate.TruthRow, error) {
	rows, err := tables.ReadTruth(path)
	if err == nil && len(rows) == 0 {
		err = input.At(input.Pos{File: path}, errors.New("the truth table has no rows"))
	}
	return rows, badInput(err)
}
