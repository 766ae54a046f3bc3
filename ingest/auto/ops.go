package auto

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/trace/operator"
)

// metaLast is the order in which candidates are looked at: as they are, but
// files that may be the meta file of an operator trace after all others.
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

// stem is the name of a file without what says how it is stored.
func stem(path string) string {
	name := filepath.Base(path)
	for _, ext := range []string{".gz", ".zst", ".csv", ".parquet", ".sqlite"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// openOperators opens an operator trace, CSV or Parquet, with its meta file.
func (r *Reader) openOperators(in *Input, src *metered) (itemReader, error) {
	if head, _ := src.Peek(sniffed); sniff(head) == Archive { // which it is not, being an operator trace
		src.Close()
		return r.openTable(in, nil)
	}
	m, err := metaOf(in.Path)
	if err != nil {
		src.Close()
		return nil, err
	}
	return operatorFile(in.Path, src, func() (*operator.Trace, error) { return optrace.ReadCSV(src, src.Name(), m, r.o.Limits) }), nil
}

// metaOf is the meta file beside an operator trace, nil where there is none.
func metaOf(path string) (*optrace.Meta, error) {
	if path == ingest.Stdin {
		return nil, nil
	}
	return optrace.LoadMeta(optrace.MetaBeside(path))
}
