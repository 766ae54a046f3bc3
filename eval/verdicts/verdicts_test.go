package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/eval/internal/pages"
)

// TestFewJobs: a small part of the measurement, at the limits that hold for all.
func TestFewJobs(t *testing.T) {
	var few []cell
	for i, c := range timingCells() {
		if i%7 == 0 && c.steps < 200 {
			few = append(few, c)
		}
	}
	for i, c := range borderCells() {
		if c.steps == 20 && i%2 == 0 {
			few = append(few, c)
		}
	}
	scores, err := measure(few, 3)
	if err != nil {
		t.Fatal(err)
	}
	all := sum(scores)
	if all.wrong > 0 || all.alarms > 0 || all.surely != all.strong || 10*all.right < 9*all.jobs {
		t.Errorf("%+v", all)
		for _, s := range scores {
			if s.right < s.jobs || s.alarms > 0 {
				t.Logf("%+v: %v, %d alarms", s.cell, s, s.alarms)
			}
		}
	}
}

// TestPage: the page has a cell for every kind of job, and says where more steps
// make it worse.
func TestPage(t *testing.T) {
	p := page{Seeds: 4}
	for _, c := range borderCells() {
		p.borders = append(p.borders, score{cell: c, jobs: 4, right: 4})
	}
	for _, c := range strikeCells() {
		p.strikes = append(p.strikes, score{cell: c, jobs: 3, right: 3})
	}
	for _, c := range timingCells() {
		s := score{cell: c, jobs: 100, right: 100}
		if c.steps == 200 && c.ranks == 32 && c.step == 2 && c.wall && c.gap == 0 {
			s.right, s.silent = 60, 40
		}
		p.timings = append(p.timings, s)
	}
	var out bytes.Buffer
	if err := pages.Fill(pageText, p)(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if n := strings.Count(text, "4 / 0 / 0"); n != len(p.borders) {
		t.Errorf("%d cells of borders, want %d", n, len(p.borders))
	}
	if len(worse(p.timings, len(lengths))) != 1 || !strings.Contains(text, "In 1 cells more steps make it worse:") {
		t.Error("a cell in which more steps make it worse is not told")
	}
}

// TestTwoRanks: with two ranks, of which one stalls in every window, the stalls
// count for their size. Noise of one window is nobody's name, nor are the steps of
// a late rank slow steps of everybody; and more steps do not make it worse.
func TestTwoRanks(t *testing.T) {
	var few []cell
	for _, c := range strikeCells() {
		if c.ranks == 2 && c.steps == lengths[1] {
			few = append(few, c)
		}
	}
	scores, err := measure(few, 48)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scores {
		if s.wrong > 0 || s.alarms > 0 || s.surely < s.strong {
			t.Errorf("%+v: %d named wrong, %d alarms, %d of %d strong ones right", s.cell, s.wrong, s.alarms, s.surely, s.strong)
		}
		if s.step == 5 && 10*s.right < 9*s.jobs {
			t.Errorf("%+v: %d of %d named", s.cell, s.right, s.jobs)
		}
	}
}
