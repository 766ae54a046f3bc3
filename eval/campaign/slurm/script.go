package slurm

import (
	"fmt"
	"strings"
	"text/template"

	"github.com/sfstat/sfstat/eval/campaign"
)

// defaultMinutes is the time limit of a run where the campaign has none.
const defaultMinutes = 30

// script is what sbatch is given for a batch. Paths are absolute; the batch lies
// where all nodes see it.
type script struct {
	Name    string
	Runs    int
	Ranks   int
	Batch   string // folder of the batch
	Cluster campaign.Cluster

	Words      []string // what every rank executes, followed by --spec FILE --out FOLDER
	PythonPath string   // for PYTHONPATH
}

// directives returns the options of sbatch.
func (s *script) Directives() []string {
	c := &s.Cluster
	array := fmt.Sprintf("--array=0-%d", s.Runs-1)
	if c.AtMost > 0 {
		array += fmt.Sprintf("%%%d", c.AtMost)
	}
	minutes := c.Minutes
	if minutes == 0 {
		minutes = defaultMinutes
	}
	out := []string{"--job-name=" + s.Name, array, fmt.Sprintf("--ntasks=%d", s.Ranks), fmt.Sprintf("--time=%d", minutes),
		`--output="` + s.Batch + `/logs/%a.log"`, "--no-requeue"}
	if c.Partition != "" {
		out = append(out, "--partition="+c.Partition)
	}
	if c.Account != "" {
		out = append(out, "--account="+c.Account)
	}
	if c.Nodes > 0 {
		out = append(out, fmt.Sprintf("--nodes=%d", c.Nodes))
	}
	if c.CPUsPerRank > 0 {
		out = append(out, fmt.Sprintf("--cpus-per-task=%d", c.CPUsPerRank))
	}
	return append(out, c.Flags...)
}

// command returns the program of a rank in the shell's syntax.
func (s *script) Command() string {
	var words []string
	for _, w := range s.Words {
		words = append(words, quoteWord(w))
	}
	return strings.Join(words, " ")
}

// The port differs between the jobs of a node, which have numbers of their own.
// How the run ended is noted under a temporary name first, so that nobody reads
// half of it.
var scriptText = template.Must(template.New("sbatch").Funcs(template.FuncMap{"quoted": quoteWord}).Parse(`#!/bin/bash
{{range .Directives}}#SBATCH {{.}}
{{end}}#
# Written by sfstat campaign run: element i of the array makes the run in row
# i + 1 of runs.csv, with a task for each rank.
batch={{quoted .Batch}}
i=$SLURM_ARRAY_TASK_ID
run=$(sed -n "$((i + 2))s/,.*//p" "$batch/runs.csv")
packets=$batch/packets/$run
trap 'code=$?; echo $code > "$batch/ended/.$i" && mv "$batch/ended/.$i" "$batch/ended/$i"' EXIT
trap 'exit 143' TERM
{{range .Cluster.Setup}}{{.}}
{{end}}export PYTHONPATH={{quoted .PythonPath}}${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-${SLURM_CPUS_PER_TASK:-1}}
export WORLD_SIZE=$SLURM_NTASKS MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) || exit
export MASTER_ADDR
rm -rf "$packets" && mkdir -p "$packets" || exit
srun --ntasks={{.Ranks}} --kill-on-bad-exit=1 {{.Command}} --spec "$batch/specs/$run.json" --out "$packets"
`))

// quoteWord returns a word for the shell.
func quoteWord(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
