package campaign

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/strictyaml"
	"github.com/sfstat/sfstat/trace/input"
)

// What lies in the folder of a campaign.
const (
	specName  = "campaign.yaml"
	runsName  = "runs"  // an archive for each run, or packets
	rowFolder = "rows"  // a file for each run that is done: where its archive comes from
	lockName  = ".lock" // held by the execution that is at work
)

// What tables read of it besides.
const (
	TruthName = "truth.csv" // what the runs hide, as sfstat campaign report reads it
	// SourcesName holds what other recorders saw of runs, as RUN/NAME, and PacketsName what
	// sfstat's own saw of real ones.
	SourcesName = "sources"
	PacketsName = "packets"
	// OverheadName holds measurements of what recording costs, and PairedName in it the
	// times of paired runs.
	OverheadName = "overhead"
	PairedName   = "runs"
)

// Provenance is where what is told of a run comes from.
type Provenance struct {
	Run, Group string
	SpecHash   string // SHA-256 of the run's specification
	Version    string // of the program that made the run
	Input      string // the archive, from the campaign's folder
	InputHash  string // SHA-256 of its bytes
}

// ProvenanceHead are the columns of [Provenance.Cells].
var ProvenanceHead = []string{"run", "group", "spec_sha256", "made_by", "input", "input_sha256"}

// Cells returns the values of the provenance, as in files.
func (p *Provenance) Cells() []string {
	return []string{p.Run, p.Group, p.SpecHash, p.Version, p.Input, p.InputHash}
}

// Folder is a campaign on disk.
type Folder struct {
	Disk  disk.Disk // where it is; nil: that of this machine
	Name  string    // of the campaign
	Path  string
	Tasks []Task // of the plan
	// Settings are under which the runs are analysed once more.
	Settings []Setting
}

func (f *Folder) input(t *Task) string { return runsName + "/" + t.file() }

// Archive returns where a run's windows lie.
func (f *Folder) Archive(t *Task) string { return filepath.Join(f.Path, runsName, t.file()) }

// Row notes where it comes from, once it is done.
func (f *Folder) Row(t *Task) string { return filepath.Join(f.Path, rowFolder, t.ID+".csv") }

// file returns the file name of a run's recording: packets where it has arrivals, which archives do not hold.
func (t *Task) file() string {
	if t.Spec.Arrivals {
		return t.ID + ".jsonl"
	}
	return t.ID + ".parquet"
}

// HasSpecification reports whether a folder has a campaign's specification.
func HasSpecification(on disk.Disk, dir string) (bool, error) {
	return Exists(on, filepath.Join(dir, specName))
}

// Exists reports whether a file or folder is there; an error is one of the disk.
func Exists(on disk.Disk, path string) (bool, error) {
	_, err := disk.Or(on).Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Open reads the campaign that a folder on a disk holds; nil: that of this machine.
func Open(on disk.Disk, path string) (*Folder, error) {
	name := filepath.Join(path, specName)
	s, err := readSpec(on, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, input.At(input.Pos{File: name}, fmt.Errorf("%w, so this is no campaign's folder: sfstat campaign run SPEC.yaml -o FOLDER makes one; of recordings of your own, put a truth.csv with columns run,rank,stage beside them", fs.ErrNotExist))
	}
	if err != nil {
		return nil, err
	}
	tasks, err := s.Plan()
	return &Folder{on, s.Name, path, tasks, s.Settings}, err
}

func readSpec(on disk.Disk, path string) (*Spec, error) {
	text, err := disk.ReadFile(disk.Or(on), path)
	if err != nil {
		return nil, err
	}
	return ParseSpec(path, text)
}

// prepare makes the folder of a campaign, or takes up the one that is there,
// and notes in it the specification and what the runs hide. Until the function
// that it returns is called, nobody else can prepare it.
func prepare(path string, s *Spec, e *Execution) (*Folder, func(), error) {
	tasks, err := s.Plan()
	if err != nil {
		return nil, nil, err
	}
	f := &Folder{e.Disk, s.Name, path, tasks, s.Settings}
	if err := f.checkForeign(s); err != nil {
		return nil, nil, err
	}
	for _, dir := range f.folders() {
		if err := disk.Or(f.Disk).Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, nil, err
		}
	}
	release, err := f.lock()
	if err != nil {
		return nil, nil, err
	}
	if err := f.begin(s, e); err != nil {
		release()
		return nil, nil, err
	}
	return f, release, nil
}

// folders returns the folders that an execution writes into, the outermost first.
func (f *Folder) folders() []string {
	return []string{f.Path, filepath.Join(f.Path, runsName), filepath.Join(f.Path, rowFolder)}
}

func (f *Folder) checkForeign(s *Spec) error {
	path := filepath.Join(f.Path, specName)
	switch old, err := readSpec(f.Disk, path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case old.Name != s.Name:
		return input.At(input.Pos{File: path}, fmt.Errorf("the folder holds campaign %s, expected %s: give it a folder of its own", old.Name, s.Name))
	}
	return nil
}

// lock makes sure that one execution is at work in the folder. It ends with
// the process, however that ends.
func (f *Folder) lock() (release func(), err error) {
	path := filepath.Join(f.Path, lockName)
	l := flock.New(path)
	switch held, err := l.TryLock(); {
	case err != nil:
		return nil, err
	case !held:
		return nil, input.At(input.Pos{File: path}, errors.New("another execution of this campaign is at work in the folder: wait for it, or end it"))
	}
	return func() { _ = l.Unlock() }, nil // what could go wrong ends with the process
}

// begin tidies up after an execution that was killed, and writes what is known
// before any run is made.
func (f *Folder) begin(s *Spec, e *Execution) error {
	for _, dir := range f.folders() {
		if err := atomicfile.RemoveStale(disk.Or(f.Disk), dir); err != nil {
			return err
		}
	}
	truth, err := f.Truth()
	if err != nil {
		return err
	}
	if err := e.write(filepath.Join(f.Path, specName), func(w io.Writer) error { return strictyaml.Encode(w, s) }); err != nil {
		return err
	}
	return e.write(filepath.Join(f.Path, TruthName), func(w io.Writer) error { return simulate.WriteTruth(w, truth) })
}

// Truth returns the truth of the runs.
func (f *Folder) Truth() ([]simulate.TruthRow, error) { return truthOf(f.Tasks) }

func truthOf(tasks []Task) ([]simulate.TruthRow, error) {
	var rows []simulate.TruthRow
	for i := range tasks {
		own, err := tasks[i].truth()
		if err != nil {
			return nil, err
		}
		rows = append(rows, own...)
	}
	return rows, nil
}

// state is whether a run must be made.
type state uint8

const (
	missing  state = iota
	changed        // there, but of something else
	standing       // done
)

func (f *Folder) state(t *Task, version string) (state, error) {
	noted, err := f.readRow(t)
	if errors.Is(err, fs.ErrNotExist) {
		return missing, nil
	}
	if err != nil {
		return changed, nil // a row that cannot be read is made anew
	}
	now, err := f.provenance(t, version)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return missing, err
	}
	if noted == now {
		return standing, nil
	}
	return changed, nil
}

// provenance returns where the archive that is there would come from, made by a version.
func (f *Folder) provenance(t *Task, version string) (Provenance, error) {
	hash, err := FileHash(f.Disk, f.Archive(t))
	return Provenance{Run: t.ID, Group: t.Group, SpecHash: t.Hash, Version: version, Input: f.input(t), InputHash: hash}, err
}

// readRow returns what the row of a run says.
func (f *Folder) readRow(t *Task) (p Provenance, err error) {
	rows, err := ReadTable(f.Disk, f.Row(t), ProvenanceHead)
	if err != nil {
		return p, err
	}
	if len(rows) != 1 {
		return p, input.At(input.Pos{File: f.Row(t)}, input.Bad(input.ErrFormat, "%d rows, expected one: remove it", len(rows)))
	}
	r := rows[0]
	return Provenance{r[0], r[1], r[2], r[3], r[4], r[5]}, nil
}

// ReadTable reads the rows of a table below its header, which must be this one.
func ReadTable(on disk.Disk, path string, head []string) ([][]string, error) {
	file, err := disk.Or(on).Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	in := csv.NewReader(file)
	in.FieldsPerRecord = -1
	records, err := in.ReadAll()
	if err != nil {
		return nil, input.At(input.Pos{File: path}, err)
	}
	if len(records) == 0 || !slices.Equal(records[0], head) {
		return nil, input.At(input.Pos{File: path, Line: 1}, input.Bad(input.ErrFormat, "the first row is not the header %v: move the file away, or give another folder", head))
	}
	for i, r := range records {
		if len(r) != len(head) {
			return nil, input.At(input.Pos{File: path, Line: int64(i) + 1}, input.Bad(input.ErrFormat, "%d fields, expected %d", len(r), len(head)))
		}
	}
	return records[1:], nil
}

// Provenances returns where all runs come from, in the order of the plan.
// It is an error if a run is not done, whatever the version that did it.
func (f *Folder) Provenances() ([]Provenance, error) {
	var out []Provenance
	var wanting []string
	for i := range f.Tasks {
		t := &f.Tasks[i]
		noted, err := f.readRow(t)
		if err != nil || noted.SpecHash != t.Hash {
			wanting = append(wanting, t.ID)
			continue
		}
		now, err := f.provenance(t, noted.Version)
		if errors.Is(err, os.ErrNotExist) {
			return nil, input.At(input.Pos{File: f.Archive(t)}, input.Bad(input.ErrMissing,
				"the archive of a run that was done is gone; sfstat campaign run makes it anew"))
		}
		if err != nil {
			return nil, err
		}
		if now.InputHash != noted.InputHash {
			return nil, input.At(input.Pos{File: f.Archive(t)}, fmt.Errorf(
				"SHA-256 is %s, expected %s as in %s: the archive was changed; sfstat campaign run makes it anew", now.InputHash, noted.InputHash, f.Row(t)))
		}
		out = append(out, noted)
	}
	if len(wanting) > 0 {
		return nil, input.At(input.Pos{File: f.Path}, input.Bad(input.ErrMissing,
			"%d of %d runs are not done, the first is %s; sfstat campaign run goes on with them", len(wanting), len(f.Tasks), wanting[0]))
	}
	return out, nil
}

// FileProvenance returns a file of the folder as what something is made from.
func (f *Folder) FileProvenance(path string) (Provenance, error) {
	hash, err := FileHash(f.Disk, path)
	if err != nil {
		return Provenance{}, err
	}
	name, err := filepath.Rel(f.Path, path)
	return Provenance{Input: filepath.ToSlash(name), InputHash: hash}, err
}

// FileHash returns the SHA-256 of a file's bytes, in hexadecimal.
func FileHash(on disk.Disk, path string) (string, error) {
	file, err := disk.Or(on).Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
