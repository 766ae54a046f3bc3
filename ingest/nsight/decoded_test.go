package nsight_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/fixtures/nsighttest"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/trace/comms"
)

// decodedJob is a process that makes a communicator, reduces, and sends, with a kernel for each call.
func decodedJob() nsighttest.Process {
	id := nsighttest.Field{Name: "NCCL communicator ID", Type: nsighttest.Uint64, Value: 0xfedcba9876543210}
	size := func(n uint64) nsighttest.Field {
		return nsighttest.Field{Name: "Message size [bytes]", Type: nsighttest.Size, Value: n}
	}
	p := nsighttest.Process{PID: 9, Domains: map[int64]string{1: "NCCL", 2: "mine"}}
	for i, r := range []nsighttest.Range{
		{Text: "ncclCommInitRank", Payload: []nsighttest.Field{id, {Name: "No. of ranks", Type: nsighttest.Int, Value: 4}, {Name: "Rank", Type: nsighttest.Int, Value: 2}}},
		{Text: "ncclAllReduce", Payload: []nsighttest.Field{id, size(1 << 40), {Name: "Reduction operation", Type: nsighttest.Reduction, Value: 2}}},
		{Text: "ncclReduce", Payload: []nsighttest.Field{id, size(64), {Name: "Root", Type: nsighttest.Int, Value: 3}, {Name: "Reduction operation", Type: nsighttest.Reduction, Value: 4}}},
		{Text: "ncclSend", Payload: []nsighttest.Field{id, size(8), {Name: "Peer rank", Type: nsighttest.Int, Value: 1}}},
	} {
		at := int64(100 * (i + 1))
		r.Start, r.End, r.Registered, r.Domain = at, at+50, true, 1
		p.Ranges = append(p.Ranges, r)
		if i > 0 {
			p.Calls = append(p.Calls, nsighttest.Call{Start: at + 5, End: at + 6, Correlation: at, Name: "cudaLaunchKernelExC_v11060"})
			p.Work = append(p.Work, nsighttest.Work{Start: at + 10, End: at + 40, Stream: 7, Correlation: at, Name: ncclReduceName})
		}
	}
	return p
}

// told is what of a job's calls and communicators was read.
func told(c *comms.Record) (all []string) {
	for _, g := range c.Groups {
		if g.FromStart {
			all = append(all, fmt.Sprintf("made %x %d/%d", g.ID, g.Rank, g.Size))
		}
	}
	for _, x := range c.Calls {
		id := uint64(0)
		if x.Group != comms.None {
			id = c.Groups[x.Group].ID
		}
		all = append(all, fmt.Sprintf("%v %x %d %d %d", x.Op, id, x.Bytes, x.Reduction, x.Peer))
	}
	return all
}

var allTold = []string{"made fedcba9876543210 2/4", "AllReduce fedcba9876543210 1099511627776 2 -1", "Reduce fedcba9876543210 64 4 3", "Send fedcba9876543210 8 0 1"}

// decodedExport writes the job, and then does what the statements say; TABLE in them is the name of the table of a
// layout, less the layout's number.
func decodedExport(t testing.TB, form nsighttest.PayloadForm, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.sqlite")
	if err := nsighttest.Write(path, nsighttest.Export{Age: nsighttest.Of2026, Processes: []nsighttest.Process{decodedJob()}, Payloads: form}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	table := fmt.Sprintf("DYNAMIC_NVTXPAYLOAD_DATATYPE_%d_1_", nsighttest.GlobalPID(9))
	for _, s := range statements {
		if _, err := db.Exec(strings.ReplaceAll(s, "TABLE_", table)); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return path
}

func readTold(t *testing.T, path string) []string {
	t.Helper()
	c, err := nsight.ReadComm(path, "x", ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return told(c)
}

const (
	reduceTable = "TABLE_16777221" // of ncclAllReduce
	sendTable   = "TABLE_16777225"
)

// without is what is told less something of the all-reduce.
func without(reduce string) []string {
	less := slices.Clone(allTold)
	less[1] = reduce
	return less
}

// Tables of decoded payloads tell the same as payloads in rows, however the exporter calls columns and events, and
// beside tables that are no such ones.
func TestDecoded(t *testing.T) {
	untold := without("AllReduce 0 -1 0 -1")
	for _, tt := range []struct {
		name  string
		do    []string
		want  []string
		plain bool // fields have their own names
	}{
		{name: "names changed", want: allTold},
		{name: "names as they are", plain: true, want: allTold},
		{name: "no list of the names that were changed", do: []string{"DROP TABLE NVTX_EXPORT_TRANSLATION"}, want: allTold},
		{name: "no links, no layouts", do: []string{"DROP TABLE NVTX_EVENTS_PAYLOAD_SCHEMAS", "DROP TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES"}, want: allTold},
		{name: "a name that only the list explains", want: allTold, do: []string{"ALTER TABLE " + reduceTable + " RENAME COLUMN Message_size__bytes_ TO f1",
			"INSERT INTO NVTX_EXPORT_TRANSLATION VALUES ('Message size [bytes]', 'f1')"}},
		{name: "a name that nothing explains", want: without("AllReduce fedcba9876543210 -1 2 -1"),
			do: []string{"ALTER TABLE " + reduceTable + " RENAME COLUMN Message_size__bytes_ TO f1"}},
		{name: "no column of events", want: untold, do: []string{"ALTER TABLE " + reduceTable + " RENAME COLUMN eventId TO x"}},
		{name: "another event", want: untold, do: []string{"UPDATE " + reduceTable + " SET eventId = 99999"}},
		{name: "no event", want: untold, do: []string{"UPDATE " + reduceTable + " SET eventId = NULL"}},
		{name: "a table less", want: untold, do: []string{"DROP TABLE " + reduceTable}},
		{name: "event ids that are no row numbers", want: allTold, do: []string{
			"CREATE TABLE n AS SELECT * FROM NVTX_EVENTS", "DROP TABLE NVTX_EVENTS", "ALTER TABLE n RENAME TO NVTX_EVENTS",
			"UPDATE NVTX_EVENTS SET eventId = 1000 - eventId", "UPDATE NVTX_EVENTS_PAYLOAD_SCHEMAS SET eventId = 1000 - eventId",
			"UPDATE TABLE_16777216 SET eventId = 1000 - eventId", "UPDATE " + reduceTable + " SET eventId = 1000 - eventId",
			"UPDATE TABLE_16777224 SET eventId = 1000 - eventId", "UPDATE " + sendTable + " SET eventId = 1000 - eventId"}},
		{name: "no event ids of their own", want: allTold, do: []string{
			"CREATE TABLE n AS SELECT start, end, eventType, text, globalTid, textId, domainId FROM NVTX_EVENTS", "DROP TABLE NVTX_EVENTS", "ALTER TABLE n RENAME TO NVTX_EVENTS"}},
		{name: "unsigned numbers as text, floats", want: allTold, do: []string{"UPDATE " + reduceTable +
			" SET NCCL_communicator_ID = '18364758544493064720', Message_size__bytes_ = 1099511627776.0, Reduction_operation = 'Max'"}},
		{name: "values that cannot be", want: untold, do: []string{"UPDATE " + reduceTable +
			" SET NCCL_communicator_ID = x'00ff', Message_size__bytes_ = -7, Reduction_operation = 'Maximum'"}},
		{name: "tables that are no such ones", want: allTold, do: []string{
			`CREATE TABLE "DYNAMIC_NVTXPAYLOAD_DATATYPE_1_2_3""; DROP TABLE NVTX_EVENTS; --" (eventId)`,
			`CREATE TABLE "DYNAMIC_NVTXPAYLOAD_DATATYPE_a]_b'_c" (eventId, Rank)`, `CREATE TABLE "DYNAMIC_NVTXPAYLOAD_DATATYPE_" (eventId)`,
			`CREATE TABLE "DYNAMIC_NVTXPAYLOAD_DATATYPE_-4_-1_-99" (eventId, "Rank"); INSERT INTO "DYNAMIC_NVTXPAYLOAD_DATATYPE_-4_-1_-99" VALUES (3, 1)`,
			`CREATE TABLE "DYNAMIC_NVTXPAYLOAD_DATATYPE_99999999999999999999_1_1" (eventId, "Rank")`,
			`CREATE TABLE "` + reduceTable + `_counts" (eventId, idx, "Message size [bytes]"); INSERT INTO "` + reduceTable + `_counts" VALUES (4, 0, 5)`,
			"CREATE VIEW TABLE_16777999 AS SELECT eventId, 1 AS Rank, 5 AS Bytes FROM " + reduceTable}},
		{name: "more tables than one would look at", want: allTold, do: []string{
			"PRAGMA writable_schema = on", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000) INSERT INTO sqlite_master " +
				"SELECT 'table', 'DYNAMIC_NVTXPAYLOAD_DATATYPE_0_' || i || '_1', 'DYNAMIC_NVTXPAYLOAD_DATATYPE_0_' || i || '_1', 2, " +
				"'CREATE TABLE DYNAMIC_NVTXPAYLOAD_DATATYPE_0_' || i || '_1 (eventId)' FROM n"}},
		{name: "columns with quotes", want: allTold, do: []string{`ALTER TABLE ` + reduceTable + ` ADD COLUMN "a"" ] ' [Rank"`,
			`ALTER TABLE ` + reduceTable + ` RENAME COLUMN Message_size__bytes_ TO "message ""size"" [bytes]"`}},
		{name: "a domain of another's", want: untold, do: []string{"DROP TABLE " + reduceTable,
			fmt.Sprintf(`CREATE TABLE "DYNAMIC_NVTXPAYLOAD_DATATYPE_%d_2_1" (eventId, "Bytes")`, nsighttest.GlobalPID(9)),
			fmt.Sprintf(`INSERT INTO "DYNAMIC_NVTXPAYLOAD_DATATYPE_%d_2_1" VALUES (4, 5)`, nsighttest.GlobalPID(9))}},
	} {
		form := nsighttest.Decoded
		if tt.plain {
			form = nsighttest.DecodedAsNamed
		}
		if got := readTold(t, decodedExport(t, form, tt.do...)); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n%q, want\n%q", tt.name, got, tt.want)
		}
	}
}

// A range whose name the file lost is what the layout of its payload says: NCCL numbers its layouts, always alike.
func TestLayoutNames(t *testing.T) {
	nameless := "UPDATE NVTX_EVENTS SET textId = 12345 WHERE eventType = 59"
	for _, tt := range []struct {
		name string
		form nsighttest.PayloadForm
		do   []string
		want []string
	}{
		{"bytes", nsighttest.AsBinary, nil, allTold},
		{"bytes without layouts", nsighttest.AsBinary, []string{"DROP TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES"}, []string{"AllReduce 0 -1 0 -1", "Reduce 0 -1 0 -1", "Send 0 -1 0 -1"}},
		{"tables", nsighttest.Decoded, nil, allTold},
		{"tables without links", nsighttest.Decoded, []string{"DROP TABLE NVTX_EVENTS_PAYLOAD_SCHEMAS"}, allTold},
		{"links alone", nsighttest.Decoded, []string{"DROP TABLE " + reduceTable}, without("AllReduce 0 -1 0 -1")},
		{"one of a number that NCCL has not", nsighttest.Decoded, []string{"ALTER TABLE " + reduceTable + " RENAME TO TABLE_16777299",
			"UPDATE NVTX_EVENTS_PAYLOAD_SCHEMAS SET payloadSchemaID = 16777299 WHERE payloadSchemaID = 16777221"}, slices.Delete(slices.Clone(allTold), 1, 2)},
		{"another's domain", nsighttest.Decoded, []string{"UPDATE NVTX_EVENTS SET text = 'theirs' WHERE text = 'NCCL'"}, nil},
		{"no domain", nsighttest.Decoded, []string{"DELETE FROM NVTX_EVENTS WHERE eventType = 75"}, nil},
	} {
		if got := readTold(t, decodedExport(t, tt.form, append([]string{nameless}, tt.do...)...)); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n%q, want\n%q", tt.name, got, tt.want)
		}
	}
}
