package batch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/slurm"
)

// Cluster is how a batch is carried out on one with Slurm: an array of jobs, one
// for each shard, makes the parts in the folder beside the output, which all nodes
// see; this process waits and puts them together. Jobs that fail are handed in
// again.
type Cluster struct {
	Shards  int                        // jobs
	Flags   []string                   // further options of sbatch
	Command func(shard Shard) []string // what a job executes; it ends with role PartsOnly
	Retries int                        // how often a shard that failed is tried again
	Poll    time.Duration              // between two questions to Slurm; 0: two seconds
}

// What lies beside the parts while jobs make them.
const (
	jobsName   = "jobs" // the name of each array, in the order in which they were handed in
	logsFolder = "logs"
)

// RunOnSlurm is Run by jobs of Slurm. When it is killed, the jobs go on; with GoOn
// it waits for those that are there.
func RunOnSlurm(ctx context.Context, paths []string, o Options, c Cluster) (*findings.Summary, error) {
	if !o.Output.named() {
		return nil, errors.New("jobs of Slurm need an output that is a file: give -o FILE")
	}
	o.Shard = Shard{Of: c.Shards}
	base := o.Output.Path
	p, err := newPlan(ctx, paths, &Options{Settings: o.Settings, Objects: o.Objects, Shard: o.Shard, Role: PartsOnly}, base, base+partsSuffix)
	if err != nil {
		return nil, err
	}
	to, err := openParts(base, p.mark(), o.Resume)
	if err != nil {
		return nil, err
	}
	o.Shard = Shard{} // the parts of all of them
	b := newWork(p, &o, to)
	l := &launcher{work: b, Cluster: c}
	return b.finish(l.all(ctx))
}

// launcher hands jobs in and waits for them.
type launcher struct {
	*work
	Cluster
}

// all sees to it that all parts are there.
func (l *launcher) all(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(l.parts.dir, logsFolder), 0o777); err != nil {
		return err
	}
	if err := l.wait(ctx); err != nil { // for what was handed in before
		return err
	}
	for try := 0; ; try++ {
		wanting := l.wanting()
		switch {
		case len(wanting) == 0:
			return nil
		case try > l.Retries:
			return l.failed(wanting)
		}
		if err := l.submit(ctx, wanting); err != nil {
			return err
		}
		if err := l.wait(ctx); err != nil {
			return err
		}
	}
}

// wanting are the shards of which a part is missing.
func (l *launcher) wanting() (shards []int) {
	for i := range l.chunks {
		if s := i % l.Shards; !l.parts.has(i) && !slices.Contains(shards, s) {
			shards = append(shards, s)
		}
	}
	slices.Sort(shards)
	return shards
}

// failed says what the first job said last that did not make its parts.
func (l *launcher) failed(shards []int) error {
	log := filepath.Join(l.parts.dir, logsFolder, fmt.Sprintf("%d.log", shards[0]))
	text, _ := os.ReadFile(log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("%s of %d failed after %s; the last line of %s: %s", counted(len(shards), "shard"), l.Shards, counted(l.Retries+1, "try"), log, lines[len(lines)-1])
}

// scriptText is what sbatch is given: element i is shard i.
var scriptText = template.Must(template.New("sbatch").Parse(`#!/bin/bash
#SBATCH --job-name={{.Name}}
#SBATCH --array={{.Array}}
#SBATCH --output="{{.Logs}}/%a.log"
#SBATCH --no-requeue
{{range .Flags}}#SBATCH {{.}}
{{end}}# Written by sfstat batch.
case $SLURM_ARRAY_TASK_ID in
{{range .Elements}}{{.Index}}) exec {{.Command}} ;;
{{end}}esac
exit 2
`))

type scriptElement struct {
	Index   int
	Command string
}

// submit hands an array in, one job for each of some shards. Its name is noted
// before.
func (l *launcher) submit(ctx context.Context, shards []int) error {
	dir, err := filepath.Abs(l.parts.dir)
	if err != nil {
		return err
	}
	if strings.ContainsAny(dir, "\"%\\\r\n") {
		return fmt.Errorf(`%s: sbatch cannot take a path with one of " %% \ in it: choose another output`, dir)
	}
	name := fmt.Sprintf("sfstat-batch-%08x", rand.Uint32())
	var array []string
	var elements []scriptElement
	for _, s := range shards {
		array = append(array, strconv.Itoa(s))
		var words []string
		for _, w := range l.Command(Shard{s, l.Shards}) {
			words = append(words, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		elements = append(elements, scriptElement{s, strings.Join(words, " ")})
	}
	var text bytes.Buffer
	err = scriptText.Execute(&text, map[string]any{"Name": name, "Array": strings.Join(array, ","), "Logs": filepath.Join(dir, logsFolder),
		"Flags": l.Flags, "Elements": elements})
	if err != nil {
		return err
	}
	path := filepath.Join(dir, name+".sbatch")
	if err := atomicfile.WriteText(path, text.Bytes()); err != nil {
		return err
	}
	names, err := l.names()
	if err != nil {
		return err
	}
	all := strings.Join(append(names, name), "\n") + "\n"
	if err := atomicfile.WriteText(filepath.Join(dir, jobsName), all); err != nil {
		return err
	}
	_, err = slurm.Submit(ctx, path)
	return err
}

// names are those of the arrays that were handed in.
func (l *launcher) names() ([]string, error) {
	text, err := os.ReadFile(filepath.Join(l.parts.dir, jobsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(text)), err
}

// wait waits until no job is left.
func (l *launcher) wait(ctx context.Context) error {
	poll := l.Poll
	if poll == 0 {
		poll = 2 * time.Second
	}
	const mostUnanswered = 20
	for unanswered := 0; ; {
		names, err := l.names()
		if err != nil || len(names) == 0 {
			return err
		}
		live, err := slurm.Live(ctx, names)
		l.count()
		switch unanswered++; {
		case err == nil && len(live) == 0:
			return nil
		case err == nil:
			unanswered = 0
		case ctx.Err() != nil:
			return ctx.Err()
		case unanswered == mostUnanswered:
			return fmt.Errorf("%w (asked %d times; the jobs go on, and --resume waits for them)", err, unanswered)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(poll):
		}
	}
}

// count tells how many parts are there.
func (l *launcher) count() {
	done := int64(0)
	for i := range l.chunks {
		if l.parts.has(i) {
			done += l.chunks[i].bytes
		}
	}
	l.tell(done-l.done.Bytes, 0)
}
