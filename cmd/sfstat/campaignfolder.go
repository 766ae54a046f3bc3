package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/campaign/communication"
	"github.com/sfstat/sfstat/eval/campaign/tables"
	"github.com/sfstat/sfstat/internal/disk"
)

// scoring is by which gates a campaign is scored, and how that is told.
type scoring struct {
	gates *gates.Gates        // nil: the defaults
	flag  string              // of the command, to be given in the campaign's folder; "": the defaults
	file  campaign.Provenance // of the gates
}

// scoringOf reads --gates for the campaign in a folder.
func scoringOf(c *cli.Context, dir string) (scoring, error) {
	path := c.String("gates")
	if path == "" {
		return scoring{}, nil
	}
	gates, text, err := gatesIn(path)
	if err != nil {
		return scoring{}, err
	}
	sum := sha256.Sum256(text)
	name := filepath.ToSlash(relativeTo(dir, path))
	return scoring{&gates, " --gates " + name, campaign.Provenance{Input: name, InputHash: hex.EncodeToString(sum[:])}}, nil
}

// evaluation is what a folder holds: a campaign's runs, recordings of communication, or both.
type evaluation struct {
	disk       disk.Disk
	dir        string
	by         scoring
	runs       *tables.Evaluation // nil: recordings alone
	recordings []*communication.Recording
}

// openEvaluation reads the folder that is the argument. One that holds nothing is taken for a campaign's.
func (p *program) openEvaluation(c *cli.Context) (*evaluation, error) {
	dir, err := singleOperand(c, "FOLDER of a campaign")
	if err != nil {
		return nil, err
	}
	return p.evaluationIn(c, dir)
}

// evaluationIn opens the campaign of a folder.
func (p *program) evaluationIn(c *cli.Context, dir string) (e *evaluation, err error) {
	e = &evaluation{disk: p.disk, dir: dir}
	if e.by, err = scoringOf(c, dir); err != nil {
		return nil, err
	}
	if e.recordings, err = communication.Read(dir); err != nil {
		return nil, badInput(err)
	}
	holds, err := campaign.HasSpecification(p.disk, dir)
	if err == nil && (holds || len(e.recordings) == 0) {
		e.runs, err = tables.Open(p.disk, dir, e.by.gates)
	}
	return e, err
}

// artifacts returns the tables and figures that follow.
func (e *evaluation) artifacts() (made, figures []tables.Artifact, err error) {
	if e.runs == nil {
		figures, err = tables.MeasuredFigures(e.disk, e.dir)
	} else if made, err = e.runs.Tables(); err == nil {
		figures, err = e.runs.Figures()
	}
	if err != nil {
		return nil, nil, err
	}
	moreTables, moreFigures, err := communication.Evaluate(e.recordings, e.runs != nil && e.runs.IsPublished())
	return append(made, moreTables...), append(figures, moreFigures...), err
}

// relativeTo returns a path relative to a folder; the path itself where the folder does not lead there.
func relativeTo(dir, path string) string {
	from, err := filepath.Abs(dir)
	to, err2 := filepath.Abs(path)
	name, err3 := filepath.Rel(from, to)
	if errors.Join(err, err2, err3) != nil {
		return path
	}
	return name
}

// mark adds the gates to what an artifact was made from and by.
func (s *scoring) mark(a *tables.Artifact) {
	if s.flag != "" {
		a.Command += s.flag
		a.Inputs = append(a.Inputs[:len(a.Inputs):len(a.Inputs)], s.file)
	}
}
