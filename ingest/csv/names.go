package csv

import (
	"slices"
	"strings"
)

// attrWall is the writer's name of the column of wall times.
const attrWall = "wall_ns"

// synonyms are names that a column of each kind may have, the first its own.
var synonyms = []struct {
	column column
	names  []string
}{
	{column{kind: step}, []string{"step", "global_step", "iteration", "iter", "train_step", "training_step"}},
	{column{kind: rank}, []string{"rank", "global_rank"}},
	{column{kind: window}, []string{"window"}},
	{column{kind: wall}, []string{"wall", "wall_time", "step_time", "iteration_time", "iter_time", "step_duration", "total_time", "total"}},
	{column{kind: attr, index: attrRun}, []string{"run", "run_name", "run_id", "job_id"}},
	{column{kind: attr, index: attrWorld}, []string{"world_size"}},
	{column{kind: attr, index: attrHost}, []string{"host", "hostname", "node"}},
	{column{kind: attr, index: attrLocal}, []string{"local_rank"}},
	{column{kind: attr, index: attrRole}, []string{"role"}},
	{column{kind: attr, index: attrAccumulation}, []string{"accumulation"}},
	{column{kind: attr, index: attrGather}, []string{"gather_ok"}},
	{column{kind: attr, index: attrDataWait}, []string{"data_wait"}},
}

// notStages are names of columns that training loops log beside their times,
// notTimes words that end the names of others: they count or measure something
// else, unless a unit of time follows.
var (
	notStages = []string{"epoch", "timestamp", "datetime", "date", "loss", "train_loss", "val_loss", "lr", "learning_rate", "grad_norm", "comment", "notes"}
	notTimes  = []string{"samples", "tokens", "batch_size", "bs", "seq_len", "seqlen", "sequence_length", "throughput", "mem", "memory", "allocated", "reserved", "bytes",
		"kb", "mb", "gb", "kib", "mib", "gib", "flops", "tflops", "mfu", "util", "utilization", "temperature", "watts", "accuracy", "perplexity"}
)

// noTime reports whether a column, by its name, holds something else than the
// time of a stage.
func noTime(name string) bool {
	p := plain(name)
	return slices.Contains(notStages, p) || strings.Contains(p, "_per_s") ||
		slices.ContainsFunc(notTimes, func(word string) bool { return p == word || strings.HasSuffix(p, "_"+word) })
}

// plain is a name as it is compared.
func plain(name string) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(name)))
}

// nameless reports whether a column has no name, or one that pandas gives to
// its index.
func nameless(name string) bool {
	p := plain(name)
	return p == "" || strings.HasPrefix(p, "unnamed:_") || strings.HasPrefix(p, "__index_level_")
}

// meanings are what the columns of these names hold by their names alone;
// stage for those that are none of the others. Of several names of one kind,
// the first of its synonyms counts, and the others are ignored: they are no
// stages.
func meanings(names []string) []column {
	out := make([]column, len(names))
	for i, name := range names {
		if nameless(name) || noTime(name) {
			out[i].kind = ignored
		}
	}
	for _, s := range synonyms {
		best := len(s.names)
		places := make([]int, len(names)) // in the synonyms, −1 for none
		for i, name := range names {
			p, unit := plain(name), Unsaid
			if s.column.kind == wall {
				p, unit = splitUnit(p)
			}
			places[i] = slices.Index(s.names, p)
			if places[i] < 0 {
				continue
			}
			best = min(best, places[i])
			out[i] = s.column
			out[i].unit = unit
		}
		for i, place := range places {
			if place > best {
				out[i] = column{kind: ignored}
			}
		}
	}
	return out
}

// Nearly reports whether a table has one of the two columns that Recognizes
// asks for: its reader says best what is missing.
func Nearly(columns []string) bool {
	return len(columns) > 1 && slices.ContainsFunc(meanings(columns), func(c column) bool { return c.kind == step || c.kind == rank })
}

// Recognizes reports whether a table with these columns has a row for each step
// of a rank.
func Recognizes(columns []string) bool {
	var steps, ranks bool
	for _, c := range meanings(columns) {
		steps, ranks = steps || c.kind == step, ranks || c.kind == rank
	}
	return steps && ranks
}
