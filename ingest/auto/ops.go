package auto

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/recorded"
)

// metaLast returns the indices of candidates in reading order: as given, with possible meta files of operator traces at the end.
func metaLast(all []candidate) []int {
	var first, last []int
	for i, c := range all {
		if ext := strings.ToLower(filepath.Ext(c.path)); ext == ".yaml" || ext == ".yml" {
			last = append(last, i)
		} else {
			first = append(first, i)
		}
	}
	return slices.Concat(first, last)
}

// claim notes the meta file, if any, that the operator trace at path has. Two
// forms of one trace may share it.
func (r *Reader) claim(path string) {
	if path == ingest.Stdin {
		return
	}
	if meta := optrace.MetaBeside(path); meta != "" {
		if _, taken := r.metas[realPath(meta)]; !taken {
			r.metas[realPath(meta)] = path
		}
	}
}

// isMeta reports whether c is the meta file of a trace that was looked at, and
// then says so in its input.
func (r *Reader) isMeta(c candidate, in *Input) bool {
	if len(r.metas) == 0 || c.err != nil || c.path == ingest.Stdin {
		return false
	}
	of, ok := r.metas[realPath(c.path)]
	if !ok {
		return false
	}
	in.Format, in.MetaOf = OperatorMeta, of
	if info, err := os.Stat(c.path); err == nil {
		in.Bytes = info.Size()
	}
	return true
}

// stem returns the name of a file without the extensions of its storage.
func stem(path string) string {
	name := filepath.Base(path)
	for _, ext := range []string{".gz", ".zst", ".csv", ".parquet", ".sqlite", ".json", ".trace", ".pt"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// readOperators reads an operator trace, CSV or Parquet, with its meta file.
func (r *Reader) readOperators(in *Input, src *metered) (part, error) {
	m, err := metaOf(in.Path)
	if err != nil {
		return part{}, err
	}
	var t *operator.Trace
	if head, _ := src.Peek(sniffed); sniff(head) != Archive {
		t, err = optrace.ReadCSV(src, src.Name(), m, r.o.Limits)
	} else {
		var c columnar
		if c, err = openColumnar(r.o.Disk, in.Path); err == nil {
			defer c.file.Close()
			t, err = optrace.ReadParquet(c.Input, m, r.o.Limits)
		}
	}
	if err != nil {
		return part{}, err
	}
	return operatorsOf(t, in.Path), nil
}

// operations reads an operator trace: as the operators that it holds, or, where its operators have no part in a
// schedule and windows are wanted, as the windows of a table of operators.
func (u *unit) operations(give func(part) bool) error {
	in := u.inputs[0]
	src, err := u.r.open(in)
	if err != nil {
		return err
	}
	defer src.Close()
	p, err := u.r.readOperators(in, src)
	if err != nil {
		return err
	}
	if !p.Operators.HasSchedule() && u.r.o.Kinds.has(Windows) && u.r.o.Detail != profiler.EachOperator {
		c, err := csv.NewOperatorReader(p.Operators, in.Path, u.r.tables())
		if err != nil {
			return err
		}
		return u.tableOf(c, give)
	}
	p.Path = in.Path
	give(p)
	return nil
}

// operatorsOf returns an operator trace as a part, which is named by its file where it names no run.
func operatorsOf(t *operator.Trace, path string) part {
	unnamed := t.Run == ""
	if unnamed {
		t.Run = stem(path)
	}
	return part{Job: recorded.Job{Operators: t, Path: path, Launched: t.Totals()}, unnamed: unnamed}
}

// metaOf returns the meta file of an operator trace, nil where its folder has none.
func metaOf(path string) (*optrace.Meta, error) {
	if path == ingest.Stdin {
		return nil, nil
	}
	return optrace.LoadMeta(optrace.MetaBeside(path))
}
