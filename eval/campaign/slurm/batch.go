package slurm

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/table"
)

// What lies in the folder of a batch, which is one array of jobs.
const (
	entriesName = "runs.csv"   // a run in each line below the header, with specification and version
	specsName   = "specs"      // a specification for each run
	programName = "program"    // what ranks execute
	scriptName  = "job.sbatch" //
	nameName    = "name"       // of the job, which no other has
	jobName     = "job"        // its number, once it is submitted
	logsName    = "logs"       // what element i printed, in i.log
	packetsName = "packets"    // what it recorded, in a folder for each run
	endedName   = "ended"      // how element i ended, in i: the exit status, or refused
)

// ending is how an element ended: the exit status of its script as written, or
// one of these.
type ending string

const (
	notEnded ending = ""
	good     ending = "0"
	refused  ending = "refused" // its packets could not be read
)

// entriesHead is the header of runs.csv.
var entriesHead = []string{"run", "spec_sha256", "made_by"}

// entry is one run of a batch.
type entry struct {
	run, hash, version string
}

// batch is an array of jobs, by its folder.
type batch struct {
	dir     string
	name    string
	job     string // "": not known to be submitted
	entries []entry
}

func (b *batch) element(i int) element { return element(b.job + "_" + strconv.Itoa(i)) }
func (b *batch) log(i int) string {
	return filepath.Join(b.dir, logsName, strconv.Itoa(i)+".log")
}
func (b *batch) packets(i int) string { return filepath.Join(b.dir, packetsName, b.entries[i].run) }

// readEnding returns how a run ended, as its job wrote it.
func (b *batch) readEnding(i int) (ending, error) {
	text, err := os.ReadFile(filepath.Join(b.dir, endedName, strconv.Itoa(i)))
	if errors.Is(err, fs.ErrNotExist) {
		return notEnded, nil
	}
	return ending(strings.TrimSpace(string(text))), err
}

// refuse notes that what an element recorded is no good, so that it is not
// taken for it again.
func (b *batch) refuse(i int) error {
	return atomicfile.WriteText(filepath.Join(b.dir, endedName, strconv.Itoa(i)), string(refused)+"\n")
}

// batches returns the batches in a folder, in the order in which they were made. Incomplete ones were never submitted and are
// left out.
func batches(dir string) ([]*batch, error) {
	folders, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []*batch
	for _, f := range folders {
		if _, err := strconv.Atoi(f.Name()); err != nil {
			continue
		}
		b, err := readBatch(filepath.Join(dir, f.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func readBatch(dir string) (*batch, error) {
	b := &batch{dir: dir}
	name, err := os.ReadFile(filepath.Join(dir, nameName)) // the last that is written before sbatch is called
	if err != nil {
		return nil, err
	}
	job, err := os.ReadFile(filepath.Join(dir, jobName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	b.name, b.job = strings.TrimSpace(string(name)), strings.TrimSpace(string(job))
	rows, err := campaign.ReadTable(nil, filepath.Join(dir, entriesName), entriesHead)
	for _, r := range rows {
		b.entries = append(b.entries, entry{r[0], r[1], r[2]})
	}
	return b, err
}

// newBatch makes the folder of the next batch below dir, complete but for the
// number of its job. fill writes what its jobs execute.
func newBatch(dir string, tasks []*campaign.Task, version string, fill func(*batch, []*campaign.Task) error) (*batch, error) {
	folder, err := nextFolder(dir)
	if err != nil {
		return nil, err
	}
	b := &batch{dir: folder, name: fmt.Sprintf("sfstat-%s-%08x", tasks[0].Group, rand.Uint32())}
	for _, sub := range []string{specsName, logsName, packetsName, endedName} {
		if err := os.Mkdir(filepath.Join(folder, sub), 0o777); err != nil {
			return nil, err
		}
	}
	var rows [][]string
	for _, t := range tasks {
		b.entries = append(b.entries, entry{t.ID, t.Hash, version})
		rows = append(rows, []string{t.ID, t.Hash, version})
	}
	if err := fill(b, tasks); err != nil {
		return nil, err
	}
	err = atomicfile.WriteFile(filepath.Join(folder, entriesName), func(w io.Writer) error { return table.WriteCSV(w, entriesHead, rows) })
	if err != nil {
		return nil, err
	}
	return b, atomicfile.WriteText(filepath.Join(folder, nameName), b.name+"\n")
}

// nextFolder makes a folder with the first number that is free.
func nextFolder(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		path := filepath.Join(dir, fmt.Sprintf("%04d", n))
		err := os.Mkdir(path, 0o777)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
}

// noteJob notes the number that Slurm gave to the batch.
func (b *batch) noteJob(job string) error {
	b.job = job
	return atomicfile.WriteText(filepath.Join(b.dir, jobName), job+"\n")
}
