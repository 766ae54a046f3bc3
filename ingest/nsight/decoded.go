package nsight

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sfstat/sfstat/ingest/nsight/internal/export"
)

// decoded gives the ranges of NCCL what stands of them in tables of decoded payloads, where the
// exporter was asked for those. What a range was told by its own row stays. Cost: O(n log n) for n rows.
func (r *commReader) decoded() error {
	tables := r.file.DecodedTables(func(p export.ProcessID, domain int64) bool { return len(r.api[p]) > 0 && r.mayBeNCCL(p, domain) })
	names, err := r.fieldNames()
	if err != nil {
		return err
	}
	for _, ranges := range r.api {
		if !slices.IsSortedFunc(ranges, byEvent) {
			slices.SortStableFunc(ranges, byEvent)
		}
	}
	for _, t := range tables {
		if err := r.decodedTable(t, names); err != nil {
			return err
		}
	}
	return r.links()
}

// links names the ranges that no table named by what the file has of their payloads' layouts alone.
func (r *commReader) links() error {
	unnamed := 0
	for _, ranges := range r.api {
		for i := range ranges {
			if ranges[i].step == unsaid {
				unnamed++
			}
		}
	}
	if unnamed == 0 {
		return nil
	}
	return r.file.PayloadLinks(func(event int64, process export.ProcessID, domain, schema int64) error {
		if a := r.rangeOf(process, event); a != nil && r.mayBeNCCL(process, domain) {
			a.named(schema)
		}
		return nil
	})
}

func byEvent(a, b apiRange) int { return cmp.Compare(a.event, b.event) }

// decodedTable reads one table: of NCCL's domain, or of one without a name.
func (r *commReader) decodedTable(t export.DecodedTable, names map[string]string) error {
	var fields []string // what the columns hold
	t.Fields = slices.DeleteFunc(t.Fields, func(column string) bool {
		name, known := names[fold(column)]
		if known {
			fields = append(fields, name)
		}
		return !known
	})
	return r.file.Decoded(t, func(event int64, values []export.DecodedValue) error {
		a := r.rangeOf(t.Process, event)
		if a == nil {
			return nil
		}
		a.named(t.Schema)
		if a.told || !a.step.carries() {
			return nil
		}
		p := noPayload()
		for i, v := range values {
			p.decoded(fields[i], v)
		}
		a.tell(p)
		return nil
	})
}

// mayBeNCCL says whether a domain is NCCL's, or the file does not name it.
func (r *commReader) mayBeNCCL(process export.ProcessID, id int64) bool {
	name, known := r.domains[domain{process, id}]
	return !known || name == ncclDomain
}

// rangeOf finds a range of NCCL by its event, nil where there is none. Ranges must be in that order.
func (r *commReader) rangeOf(process export.ProcessID, event int64) *apiRange {
	ranges := r.api[process]
	i, ok := slices.BinarySearchFunc(ranges, event, func(a apiRange, event int64) int { return cmp.Compare(a.event, event) })
	if !ok {
		return nil
	}
	return &ranges[i]
}

// named names a range whose name the file lacks by the layout of its payload.
func (a *apiRange) named(schema int64) {
	if a.step == unsaid && !a.is(functionOf(schema)) {
		a.step = unsaid
	}
}

// fieldNames is the fields of payloads that are known, by what their columns are called: exporters change names that
// have blanks and brackets, and say into what.
func (r *commReader) fieldNames() (map[string]string, error) {
	names := make(map[string]string)
	for _, name := range payloadFields {
		names[fold(name)] = name
	}
	err := r.file.PlainNames(func(original, column string) error {
		if name, known := names[fold(original)]; known && len(names) < maxFields {
			names[fold(column)] = name
		}
		return nil
	})
	return names, err
}

// fold is what of a name outlives a change for SQL: its letters and digits, small.
func fold(name string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return -1
		}
		return unicode.ToLower(c)
	}, name)
}

// decoded takes a field that the exporter decoded.
func (p *payload) decoded(name string, v export.DecodedValue) {
	if v.Number != export.Absent {
		p.set(name, uint64(v.Number))
	} else {
		p.word(name, v.Text)
	}
}

// word takes a field that was written as text: a number, or the name of a value.
func (p *payload) word(name, word string) {
	if v, err := strconv.ParseUint(word, 0, 64); err == nil {
		p.set(name, v)
	} else if v, err := strconv.ParseInt(word, 10, 64); err == nil {
		p.set(name, uint64(v))
	} else if r, ok := reductions[word]; ok && name == reductionField {
		p.set(name, uint64(r))
	}
}

// staticSchemas is the first number of layouts that programs number themselves
// (NVTX_PAYLOAD_ENTRY_TYPE_SCHEMA_ID_STATIC_START in nvToolsExtPayload.h).
const staticSchemas = 1 << 24

// functions are NCCL's, by the number of the layout of their payload: NVTX_SID_* in nvtx.h, to which every version
// from 2.18 to 2.30 added at the end.
var functions = [...]string{"CommInitRank", "CommInitAll", "CommDestroy", "CommAbort", "AllGather", "AllReduce", "Broadcast", "ReduceScatter",
	"Reduce", "Send", "Recv", "CommInitRankConfig", "CommInitRankScalable", "CommSplit", "CommFinalize", "CommShrink", "AlltoAll", "Gather", "Scatter",
	"CommRevoke", "CommGrow", "PutSignal", "Signal", "WaitSignal"}

// functionOf is the function whose payload has this layout, "" for one that is not known.
func functionOf(schema int64) string {
	if i := schema - staticSchemas; i >= 0 && i < int64(len(functions)) {
		return functions[i]
	}
	return ""
}

// binarySchema is the layout that the header of a payload names, −1 where there is none.
func binarySchema(b []byte) int64 {
	if len(b) < header {
		return unknown
	}
	return int64(binary.LittleEndian.Uint64(b[8:]))
}
