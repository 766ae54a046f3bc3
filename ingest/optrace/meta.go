package optrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// Meta is what the YAML file beside a trace tells. Sizes that it does not tell
// are 0.
type Meta struct {
	Trial string `yaml:"trial_name"`
	Run   int    `yaml:"run_id"`
	DP    int    `yaml:"dp_size"`
	DSP   int    `yaml:"dsp_size"`
	PP    int    `yaml:"pp_size"`
	TP    int    `yaml:"tp_size"`
	VPP   int    `yaml:"vpp_size"`
	World int    `yaml:"world_size"`
	// Resolution is the nanoseconds that the times can tell apart where that is
	// coarser than their unit: they were converted from something else.
	Resolution int64 `yaml:"resolution_ns,omitempty"`
	// Of the trace of a profiler: its ranks, and what is incomplete.
	Ranks []metaRank   `yaml:"ranks,omitempty"`
	Notes []input.Note `yaml:"notes,omitempty"`

	file string
}

// maxMeta bounds the bytes of a meta file.
const maxMeta = 4 << 20

// readMeta reads a meta file; name stands in errors.
func readMeta(r io.Reader, name string) (*Meta, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxMeta+1))
	if err == nil && len(b) > maxMeta {
		err = input.Bad(input.ErrTooLarge, "a meta file of more than %d bytes", maxMeta)
	}
	m := &Meta{file: name}
	if err == nil {
		err = yaml.NewDecoder(bytes.NewReader(b)).Decode(m)
		if errors.Is(err, io.EOF) {
			err = input.Bad(input.ErrEmpty, "the meta file says nothing")
		} else if err != nil {
			err = input.Bad(input.ErrFormat, "%s", strings.Join(strings.Fields(err.Error()), " "))
		}
	}
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return nil, input.At(input.Pos{File: name}, err)
	}
	return m, nil
}

func (m *Meta) check() error {
	sizes := []struct {
		name string
		n    int
	}{{"dp_size", m.DP}, {"pp_size", m.PP}, {"tp_size", m.TP}, {"dsp_size", m.DSP}, {"vpp_size", m.VPP}, {"world_size", m.World}}
	for _, s := range sizes {
		if s.n < 0 || s.n > trace.MaxRanks {
			return input.Bad(input.ErrTooLarge, "%s is %d, expected 1 to %d", s.name, s.n, trace.MaxRanks)
		}
	}
	if err := m.checkRanks(); err != nil {
		return err
	}
	if m.Resolution < 0 {
		return input.Bad(input.ErrNegative, "resolution_ns is %d, expected nanoseconds", m.Resolution)
	}
	product := int64(1)
	for _, s := range []int{m.DP, m.PP, m.TP, m.DSP} {
		if s == 0 {
			return nil
		}
		if product *= int64(s); product > trace.MaxRanks {
			return input.Bad(input.ErrTooLarge, "dp × pp × tp × dsp is over %d ranks", trace.MaxRanks)
		}
	}
	if m.World != 0 && int64(m.World) != product {
		return input.Bad(input.ErrFormat, "world_size is %d, but dp × pp × tp × dsp is %d", m.World, product)
	}
	return nil
}

// apply sets the name and layout of a trace, inferring what the meta file, if
// any, does not tell.
func (m *Meta) apply(o *operator.Trace) error {
	if m == nil {
		m = &Meta{}
	}
	dp, pp := o.Coordinates()
	l := operator.Layout{TP: max(1, m.TP), DSP: max(1, m.DSP), VPP: 1}
	for i := range dp {
		l.DP, l.PP = max(l.DP, dp[i]+1), max(l.PP, pp[i]+1)
	}
	for _, c := range o.Chunk {
		l.VPP = max(l.VPP, int(c)+1)
	}
	for _, s := range []struct {
		name         string
		told, column int
	}{{"dp_size", m.DP, l.DP}, {"pp_size", m.PP, l.PP}, {"vpp_size", m.VPP, l.VPP}} {
		if s.told != 0 && s.told < s.column {
			return input.At(input.Pos{File: m.file}, input.Bad(input.ErrFormat, "%s is %d, but the trace has %d: is it the meta file of this trace?", s.name, s.told, s.column))
		}
	}
	l.DP, l.PP, l.VPP = max(l.DP, m.DP), max(l.PP, m.PP), max(l.VPP, m.VPP)
	l.World = l.DP * l.PP * l.TP * l.DSP
	o.Run, o.Layout = m.Trial, l
	if o.Launch != nil {
		m.restore(o)
	}
	if m.Resolution > o.Resolution {
		o.Resolution = m.Resolution
		o.Units += fmt.Sprintf(", from a source good to %d ns", m.Resolution)
	}
	return nil
}

// MetaBeside finds the meta file that belongs to a trace by its name, "" for none:
// meta-X.yaml for trace-X.parquet, or X.yaml or X.meta.yaml for X.parquet.
func MetaBeside(path string) string {
	for _, name := range metaNames(path) {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// MetaFor returns the name under which the meta file of a trace at path is found.
func MetaFor(path string) string { return metaNames(path)[0] }

// metaNames returns the names that the meta file of a trace may have, the first
// that exists is it.
func metaNames(path string) []string {
	folder, stem := filepath.Split(path)
	for _, ext := range []string{".gz", ".zst", ".parquet", ".csv"} {
		stem = strings.TrimSuffix(stem, ext)
	}
	stems := []string{stem, stem + ".meta"}
	if strings.Contains(stem, "trace") {
		stems = append([]string{strings.Replace(stem, "trace", "meta", 1)}, stems...)
	}
	var names []string
	for _, s := range stems {
		names = append(names, folder+s+".yaml", folder+s+".yml")
	}
	return names
}

// Fits reports whether the meta file tells the name and layout of t. Sizes that
// the columns of a trace tell may be left out.
func (m *Meta) Fits(t *operator.Trace) bool {
	l, told := t.Layout, metaOf(t)
	return slices.Equal(m.Ranks, told.Ranks) && slices.Equal(m.Notes, told.Notes) && m.Trial == t.Run && max(1, m.TP) == max(1, l.TP) && max(1, m.DSP) == max(1, l.DSP) &&
		(m.DP == 0 || m.DP == l.DP) && (m.PP == 0 || m.PP == l.PP) && (m.VPP == 0 || m.VPP == l.VPP)
}

// LoadMeta reads the meta file at path; "" is none, which is no error.
func LoadMeta(path string) (*Meta, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, ingest.Unreadable(path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, ingest.Unreadable(path, &fs.PathError{Op: "open", Path: path, Err: errors.New("is a folder")})
	}
	return readMeta(f, path)
}
