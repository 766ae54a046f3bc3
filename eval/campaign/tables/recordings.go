package tables

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/crosscheck"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/stages"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/trace/input"
)

// What other recorders saw of runs lies in a folder of the campaign's, as
// sources/RUN/NAME: a file or a folder for each recorder. What sfstat's own
// recorder saw is that of the name packets, or else what the campaign has of the
// run. sources/truth.csv tells what runs hide that are not the campaign's.

// recordings compares what several recorders saw of runs, as the folder has it.
// A run of whose recordings one cannot be read is an error; none is no error.
// O(durations).
func (e *Evaluation) recordings() ([]comparedRun, []campaign.Provenance, error) {
	root := filepath.Join(e.Path, campaign.SourcesName)
	entries, err := disk.Or(e.Disk).ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	known, err := e.knownCases(filepath.Join(root, campaign.TruthName))
	if err != nil {
		return nil, nil, err
	}
	var out []comparedRun
	var inputs []campaign.Provenance
	for _, entry := range entries {
		run := entry.Name()
		if run == campaign.TruthName || run == costsName || strings.HasPrefix(run, ".") {
			continue
		}
		r, read, err := e.compareRecordings(run)
		if err != nil {
			return nil, nil, err
		}
		r.Run, r.Case = run, known[run]
		out, inputs = append(out, *r), append(inputs, read...)
	}
	return out, inputs, nil
}

// knownCases returns the cases of the campaign, and of a table beside the recordings.
func (e *Evaluation) knownCases(path string) (map[string]*runCase, error) {
	all := maps.Clone(e.cases)
	more, err := ReadTruth(e.Disk, path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	maps.Copy(all, cases(more))
	return all, err
}

// compareRecordings compares the recordings of one run.
func (e *Evaluation) compareRecordings(run string) (*comparedRun, []campaign.Provenance, error) {
	paths, err := e.recordingsOf(run)
	if err != nil {
		return nil, nil, err
	}
	var all []crosscheck.Source
	var inputs []campaign.Provenance
	for _, p := range paths {
		s, read, err := e.readRecording(p)
		if err != nil {
			return nil, nil, err
		}
		for i := range read {
			read[i].Run = run
		}
		all, inputs = append(all, s), append(inputs, read...)
	}
	c, err := crosscheck.Compare(all, crosscheck.Options{Gates: e.gates})
	if err != nil {
		return nil, nil, input.At(input.Pos{File: filepath.Join(e.Path, campaign.SourcesName, run)}, err)
	}
	return &comparedRun{Comparison: c}, inputs, nil
}

// recordingPath is where a recorder left what it saw.
type recordingPath struct{ name, path string }

// ownRecorder is what sfstat's recorder is called in tables.
const ownRecorder = "sfstat recorder"

// recordingsOf finds the recordings of a run, sfstat's own first.
func (e *Evaluation) recordingsOf(run string) ([]recordingPath, error) {
	dir := filepath.Join(e.Path, campaign.SourcesName, run)
	entries, err := disk.Or(e.Disk).ReadDir(dir)
	if err != nil {
		return nil, input.At(input.Pos{File: dir}, fmt.Errorf("expected a folder for the run, with a file or a folder for each recorder: %w", err))
	}
	own, err := e.sfstatRecording(run)
	if err != nil {
		return nil, err
	}
	var others []recordingPath
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		path := filepath.Join(dir, e.Name())
		switch {
		case name == "": // hidden
		case name == campaign.PacketsName:
			own = path
		case slices.ContainsFunc(others, func(o recordingPath) bool { return o.name == name }):
			return nil, input.At(input.Pos{File: path}, input.Bad(input.ErrDuplicate, "another recording is called %s too: give each a folder of its own", name))
		default:
			others = append(others, recordingPath{name, path})
		}
	}
	switch {
	case own == "":
		return nil, input.At(input.Pos{File: dir}, input.Bad(input.ErrMissing,
			"no %s.jsonl and no folder %s in it, and %s is no run of the campaign: what is it to be compared with?", campaign.PacketsName, campaign.PacketsName, run))
	case len(others) == 0:
		return nil, input.At(input.Pos{File: dir}, input.Bad(input.ErrMissing, "nothing of another recorder in it, such as pytorch/ or nsight/"))
	}
	return append([]recordingPath{{ownRecorder, own}}, others...), nil
}

// sfstatRecording returns sfstat's recording of a run of the campaign: the packets where a real job left some, else the archive;
// "" for another run.
func (e *Evaluation) sfstatRecording(run string) (string, error) {
	for i := range e.Tasks {
		if e.Tasks[i].ID != run {
			continue
		}
		packets := filepath.Join(e.Path, campaign.PacketsName, run)
		switch _, err := disk.Or(e.Disk).Stat(packets); {
		case err == nil:
			return packets, nil
		case errors.Is(err, fs.ErrNotExist):
			return e.Archive(&e.Tasks[i]), nil
		default:
			return "", err
		}
	}
	return "", nil
}

// readRecording reads what one recorder saw. All of it must be good: a file that is
// left out would count as a difference.
func (e *Evaluation) readRecording(p recordingPath) (crosscheck.Source, []campaign.Provenance, error) {
	s := crosscheck.Source{Name: p.name}
	in, err := auto.Open([]string{p.path}, auto.Options{Kinds: auto.Windows, Strict: ingest.FirstError, Timeline: stages.OnHost})
	if err != nil {
		return s, nil, err
	}
	defer in.Close()
	for j, err := range in.Jobs() {
		if err != nil {
			return s, nil, err
		}
		s.Windows = append(s.Windows, j.Windows...)
	}
	bytes, format := auto.StoredBytes(in.Inputs())
	s.Bytes, s.Format = bytes, format.String()
	inputs, err := e.filesOf(in.Inputs())
	return s, inputs, err
}

// filesOf returns the source files of windows, by their names in the folder.
func (e *Evaluation) filesOf(read []auto.Input) ([]campaign.Provenance, error) {
	var out []campaign.Provenance
	for _, in := range read {
		if in.Skipped != "" || in.Windows == 0 {
			continue
		}
		from, err := e.FileProvenance(in.Path)
		if err != nil {
			return nil, err
		}
		out = append(out, from)
	}
	return out, nil
}
