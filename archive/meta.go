package archive

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// meta is what an archive says beside its rows. Everything that windows share
// is listed once and referred to by position, so that a window costs about 15
// bytes.
type meta struct {
	Format   string         `json:"format"`
	Stages   []string       `json:"stages"`
	Channels []string       `json:"channels,omitempty"`
	Runs     []string       `json:"runs"`
	Cohorts  list[cohort]   `json:"cohorts"`
	Forms    list[form]     `json:"forms"`
	Windows  list[position] `json:"windows"`
	Epochs   bool           `json:"epochs,omitempty"`   // there is a column of them
	Arrivals bool           `json:"arrivals,omitempty"` // windows have some, in a file beside
}

// cohort is the ranks of a window. The lists run alongside Ranks; one that is
// left out holds nothing but unknowns.
type cohort struct {
	WorldSize  int              `json:"world_size"`
	Ranks      []int            `json:"ranks"`
	Hosts      []string         `json:"hosts,omitempty"`
	LocalRanks []int            `json:"local_ranks,omitempty"` // −1: unknown
	Roles      map[string][]int `json:"roles,omitempty"`       // by axis; −1: the rank has none
}

// form is what else windows may share.
type form struct {
	Run          int          `json:"run"`
	Cohort       int          `json:"cohort"`
	Steps        int          `json:"steps"`
	Accumulation int          `json:"accumulation,omitempty"`
	DataWait     string       `json:"data_wait,omitempty"`
	NoWall       bool         `json:"no_wall,omitempty"`
	Channels     []int        `json:"channels,omitempty"`
	GatherFailed []int        `json:"gather_failed,omitempty"`
	Notes        []input.Note `json:"notes,omitempty"`
}

// position is a window: its form, number and first step.
type position [3]int64

// list is a JSON array that is checked while it is read: an element that says
// nothing ends the reading, so that a hostile file cannot make few bytes into
// many elements.
type list[T interface{ check() error }] []T

func (l *list[T]) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return input.Bad(input.ErrType, "the metadata have %.20q where a list is expected", b)
	}
	*l = nil
	for d.More() {
		var element T
		if err := d.Decode(&element); err != nil {
			return err
		}
		if err := element.check(); err != nil {
			return err
		}
		*l = append(*l, element)
	}
	return nil
}

func (c cohort) check() error {
	n := len(c.Ranks)
	same := n > 0 && (c.Hosts == nil || len(c.Hosts) == n) && (c.LocalRanks == nil || len(c.LocalRanks) == n)
	for _, coords := range c.Roles {
		same = same && len(coords) == n
	}
	if !same {
		return input.Bad(input.ErrRagged, "a cohort in the metadata has no ranks, or lists of another length than its ranks")
	}
	return nil
}

func (f form) check() error {
	if f.Run < 0 || f.Cohort < 0 || f.Steps < 1 {
		return input.Bad(input.ErrFormat, "a form in the metadata has run %d, cohort %d, %d steps", f.Run, f.Cohort, f.Steps)
	}
	return nil
}

func (p position) check() error {
	if p[0] < 0 {
		return input.Bad(input.ErrFormat, "a window in the metadata has form %d", p[0])
	}
	return nil
}

// encode gives the metadata as text, and its checksum.
func (m *meta) encode() (text, sum string, err error) {
	b, err := json.Marshal(m)
	return string(b), fmt.Sprintf("%08x", crc32.ChecksumIEEE(b)), err
}

// parseMeta reads what encode made.
func parseMeta(text, sum string) (*meta, error) {
	if want, err := strconv.ParseUint(sum, 16, 32); err != nil || crc32.ChecksumIEEE([]byte(text)) != uint32(want) {
		return nil, input.Bad(input.ErrFormat, "the metadata are damaged: their checksum %q does not fit, copy the file again from its source", sum)
	}
	m := new(meta)
	err := json.Unmarshal([]byte(text), m)
	version := struct{ Format string }{m.Format}
	if err != nil { // another version may have another form
		err = cmp.Or(json.Unmarshal([]byte(text), &version), err)
	}
	if version.Format != "" && version.Format != Format || err == nil && version.Format == "" {
		return nil, input.Bad(input.ErrFormat, "an archive of format %q, this version reads %q: a newer sfstat may read it", version.Format, Format)
	}
	if err != nil {
		return nil, input.Bad(input.ErrFormat, "metadata %s: %v", Key, err)
	}
	return m, m.check()
}

// check refuses references to what is not there.
func (m *meta) check() error {
	for i, f := range m.Forms {
		if f.Run >= len(m.Runs) || f.Cohort >= len(m.Cohorts) {
			return input.Bad(input.ErrMissing, "form %d of the metadata names run %d of %d and cohort %d of %d", i, f.Run, len(m.Runs), f.Cohort, len(m.Cohorts))
		}
		for _, c := range f.Channels {
			if c < 0 || c >= len(m.Channels) {
				return input.Bad(input.ErrMissing, "form %d of the metadata names channel %d of %d", i, c, len(m.Channels))
			}
		}
	}
	for i, p := range m.Windows {
		if p[0] >= int64(len(m.Forms)) {
			return input.Bad(input.ErrMissing, "window %d of the metadata names form %d of %d", i, p[0], len(m.Forms))
		}
	}
	if len(m.Windows) > 0 && len(m.Stages) == 0 {
		return input.Bad(input.ErrEmpty, "the metadata list windows but no stages")
	}
	return nil
}

// newCohort returns the cohort of a window.
func newCohort(w *trace.Window) cohort {
	n := len(w.Ranks)
	c := cohort{WorldSize: w.WorldSize, Ranks: make([]int, n), Hosts: make([]string, n), LocalRanks: make([]int, n)}
	hosts, locals := false, false
	for i, r := range w.Ranks {
		c.Ranks[i], c.Hosts[i], c.LocalRanks[i] = r.ID, r.Host, r.LocalRank
		hosts, locals = hosts || r.Host != "", locals || r.LocalRank != -1
		for _, coord := range r.Role {
			if c.Roles == nil {
				c.Roles = make(map[string][]int)
			}
			if c.Roles[coord.Axis] == nil {
				c.Roles[coord.Axis] = slices.Repeat([]int{-1}, n)
			}
			c.Roles[coord.Axis][i] = coord.Index
		}
	}
	if !hosts {
		c.Hosts = nil
	}
	if !locals {
		c.LocalRanks = nil
	}
	return c
}

// ranks returns the ranks of the cohort.
func (c cohort) ranks() ([]trace.Rank, error) {
	ranks := make([]trace.Rank, len(c.Ranks))
	for i, id := range c.Ranks {
		ranks[i] = trace.Rank{ID: id, LocalRank: -1}
		if c.Hosts != nil {
			ranks[i].Host = c.Hosts[i]
		}
		if c.LocalRanks != nil {
			ranks[i].LocalRank = c.LocalRanks[i]
		}
		var coords []trace.Coord
		for axis, at := range c.Roles {
			if at[i] != -1 {
				coords = append(coords, trace.Coord{Axis: axis, Index: at[i]})
			}
		}
		role, err := trace.NewRole(coords...)
		if err != nil {
			return nil, err
		}
		ranks[i].Role = role
	}
	return ranks, nil
}

// newForm returns the form of a window, but for the positions in the lists.
func newForm(w *trace.Window) form {
	f := form{Steps: w.Steps(), Accumulation: w.Accumulation, NoWall: w.Wall == nil, GatherFailed: w.GatherFailed, Notes: slices.Clone(w.Notes)}
	if w.DataWait != trace.DataWaitConsuming {
		f.DataWait = w.DataWait.String()
	}
	return f
}
