package csv

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// attrWall is the writer's name of the column of wall times.
const attrWall = "wall_ns"

// synonyms are names that a column of each kind may have, the first its own. Those that may be names of stages
// too count where there is no other.
var synonyms = []struct {
	column column
	names  []string
	weak   []string
}{
	{column{kind: step}, []string{"step", "global_step", "iteration", "iter", "train_step", "training_step", "_step", "step_idx", "step_id", "step_num", "step_number", "batch_idx"},
		[]string{"iterations", "iter_num", "n_iter", "it", "update", "num_updates", "batch_id", "batch_index", "batch_num", "minibatch", "mini_batch", "batch"}},
	{column{kind: rank}, []string{"rank", "global_rank", "world_rank", "rank_id", "dist_rank"},
		[]string{"process_index", "process_id", "process_rank", "proc_id", "proc", "process", "worker_rank", "worker_id", "worker", "trainer_id", "gpu_id", "gpu_index", "gpu_idx", "gpu", "cuda", "cuda_device", "device_id", "device"}},
	{column{kind: window}, []string{"window"}, nil},
	{column{kind: wall}, []string{"wall", "wall_time", "step_time", "iteration_time", "iter_time", "step_duration", "total_time", "total"}, nil},
	{column{kind: attr, index: attrRun}, []string{"run", "run_name", "run_id", "job_id", "run_uuid"}, nil},
	{column{kind: attr, index: attrWorld}, []string{"world_size"}, nil},
	{column{kind: attr, index: attrHost}, []string{"host", "hostname", "node"}, []string{"host_name", "node_name", "node_id", "node_rank", "machine", "server"}},
	{column{kind: attr, index: attrLocal}, []string{"local_rank"}, []string{"local_gpu", "local_process_index", "lrank"}},
	{column{kind: attr, index: attrRole}, []string{"role"}, nil},
	{column{kind: attr, index: attrAccumulation}, []string{"accumulation"}, nil},
	{column{kind: attr, index: attrGather}, []string{"gather_ok"}, nil},
	{column{kind: attr, index: attrDataWait}, []string{"data_wait"}, nil},
}

// notStages are names of columns that training loops log beside their times,
// notTimes words that end the names of others: they count or measure something
// else, unless a unit of time follows.
var (
	notStages = []string{"epoch", "timestamp", "_timestamp", "_runtime", "datetime", "date", "loss", "train_loss", "val_loss", "lr", "learning_rate", "grad_norm", "comment", "notes"}
	notTimes  = []string{"samples", "tokens", "batch_size", "bs", "seq_len", "seqlen", "sequence_length", "throughput", "mem", "memory", "allocated", "reserved", "bytes",
		"kb", "mb", "gb", "kib", "mib", "gib", "flops", "tflops", "mfu", "util", "utilization", "temperature", "temp", "temp_c", "celsius", "watts", "power_w", "accuracy", "acc", "perplexity", "ppl", "loss", "lr", "percent", "pct", "%"}
)

// isNotTime reports whether a column, by its name, holds something else than the
// time of a stage.
func isNotTime(name string) bool {
	p := normalName(leaf(name))
	return slices.Contains(notStages, p) || strings.Contains(p, "_per_s") || isRate(name) ||
		slices.ContainsFunc(notTimes, func(word string) bool { return p == word || strings.HasSuffix(p, "_"+word) })
}

// normalName returns a name as it is compared.
func normalName(name string) string {
	return underscored.Replace(strings.ToLower(strings.TrimSpace(name)))
}

var underscored = strings.NewReplacer(" ", "_", "-", "_")

// leaf returns the last part of a name in folders, as trackers write it: trainer/global_step. That of data/ms is a unit.
func leaf(name string) string {
	last := name[strings.LastIndexByte(name, '/')+1:]
	if len(last) == len(name) {
		return name
	}
	if _, unit := isUnit(last); unit || strings.TrimSpace(last) == "" {
		return name
	}
	return last
}

// isNameless reports whether a column has no name, or the name that pandas gives to its index.
func isNameless(name string) bool {
	p := normalName(name)
	return p == "" || strings.HasPrefix(p, "unnamed:_") || strings.HasPrefix(p, "__index_level_")
}

// meanings returns what columns hold, by their names alone; a name of no other kind is a stage. Of several names of one
// kind the first synonym counts, and the others are ignored.
func meanings(names []string) []column {
	key := strings.Join(names, "\x00")
	if known, ok := seenHeaders.Load(key); ok {
		return slices.Clone(known.([]column))
	}
	out := meaningsOf(names)
	if len(key) <= longestSeen && seenCount.Add(1) <= mostSeen {
		seenHeaders.Store(key, slices.Clone(out))
	}
	return out
}

// The tables of a program have one header, whose names are looked at several times in each: what they mean is kept of the first headers.
var (
	seenHeaders sync.Map // []column, by the names
	seenCount   atomic.Int64
)

const mostSeen, longestSeen = 256, 4 << 10

// meaningsOf computes what meanings returns.
func meaningsOf(names []string) []column {
	out, normal := make([]column, len(names)), make([]string, len(names))
	for i, name := range names {
		if normal[i] = normalName(leaf(name)); isNameless(name) || isNotTime(name) {
			out[i].kind = ignored
		}
	}
	for _, s := range synonyms {
		if !assignKind(out, normal, s.column, s.names) {
			assignKind(out, normal, s.column, s.weak)
		}
	}
	return out
}

// assignKind gives the columns whose names are known for a kind that kind, and reports whether there are any.
func assignKind(out []column, names []string, of column, known []string) bool {
	best := len(known)
	if best == 0 {
		return false
	}
	places := make([]int, len(names)) // in the names that are known, −1 for none
	for i, name := range names {
		unit := Unsaid
		if places[i] = slices.Index(known, name); places[i] < 0 && of.kind == wall {
			name, unit = splitUnit(name)
			places[i] = slices.Index(known, name)
		}
		if places[i] < 0 {
			continue
		}
		best = min(best, places[i])
		out[i] = of
		out[i].unit = unit
	}
	for i, place := range places {
		if place > best {
			out[i] = column{kind: ignored}
		}
	}
	return best < len(known)
}

// Nearly reports whether a table has one of the two columns that Recognizes
// asks for: its reader says best what is missing.
func Nearly(columns []string) bool {
	return len(columns) > 1 && slices.ContainsFunc(meanings(columns), func(c column) bool { return c.kind == step || c.kind == rank })
}

// Recognizes reports whether a table with these columns has a row for each step
// of a rank. Of the step and the rank one has a name that is of nothing else.
func Recognizes(columns []string) bool {
	known := meanings(columns)
	return hasKind(known, step) && (hasKind(known, rank) || hasLocal(known)) && (isSure(columns, step) || isSure(columns, rank))
}

func hasLocal(columns []column) bool {
	return slices.ContainsFunc(columns, func(c column) bool { return c.kind == attr && c.index == attrLocal })
}

// isSure reports whether a column has a name of a kind that is of no other.
func isSure(columns []string, k kind) bool {
	for _, s := range synonyms {
		if s.column.kind == k && slices.ContainsFunc(columns, func(name string) bool { return slices.Contains(s.names, normalName(leaf(name))) }) {
			return true
		}
	}
	return false
}

// weakNames returns the names of a kind that may be of others.
func weakNames(k kind) []string {
	for _, s := range synonyms {
		if s.column.kind == k {
			return s.weak
		}
	}
	return nil
}

// HasStepTimes reports whether a table with these columns has step times: of one rank, or of ranks named by a column or
// by the columns of times.
func HasStepTimes(columns []string) bool {
	if Recognizes(columns) || isTwoRows(columns) {
		return true
	}
	if !isSure(columns, step) {
		return false
	}
	if _, _, ranks := ranksInNames(columns); ranks {
		return true
	}
	if _, long := longColumns(columns); long {
		return true
	}
	return slices.ContainsFunc(columns, func(name string) bool {
		_, unit := splitUnit(name)
		return unit != Unsaid
	}) || IsSeries(columns)
}

// IsSeries reports whether a table has the values of one quantity by the step, and no name of it, as TensorBoard exports them.
func IsSeries(columns []string) bool {
	return len(columns) == 3 && slices.ContainsFunc(columns, func(n string) bool { return normalName(n) == "value" }) &&
		slices.ContainsFunc(columns, func(n string) bool { return normalName(n) == "step" })
}

// IsHeader reports whether the cells of a line of text are the header of such a table.
func IsHeader(cells []string) bool { return HasStepTimes(trimQuotes(cells)) }

// trimQuotes returns cells without single quotes around them.
func trimQuotes(cells []string) []string {
	out := slices.Clone(cells)
	for i, c := range out {
		if c = strings.TrimSpace(c); len(c) > 1 && c[0] == '\'' && c[len(c)-1] == '\'' {
			out[i] = c[1 : len(c)-1]
		}
	}
	return out
}
