package detectors

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
)

// Two files of msprof-analyze say how long each rank of an Ascend cluster waits: cluster_step_trace_time.csv, a row for each rank (times in µs),
//
//	Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,…
//	1,rank,0,14945901.6,50289541.5,14462809.0,64752350.5,377397.1,65612840.3,0,…
//
// and cluster_communication.json: {group: {step: {operation: {rank: {"Communication Time Info": {"Wait Time(ms)": …}}}}}}. The rank that waits least is whom the
// others wait for.

// rankTimes is what a rank does, summed over its rows, µs.
type rankTimes struct{ computing, waiting, free float64 }

// stepTable reads cluster_step_trace_time.csv.
func stepTable(src io.Reader, name string, _ ingest.Limits) ([]health.Event, error) {
	r := csv.NewReader(src)
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	head, err := r.Read()
	if err != nil {
		return nil, input.At(input.Pos{File: name}, input.Bad(input.ErrFormat, "no table of an Ascend cluster: %v", err))
	}
	columns := slices.Clone(head)
	at := func(name string) int { return slices.Index(columns, name) }
	kind, index, computing, waiting, free := at("Type"), at("Index"), at("Computing"), at("Communication(Not Overlapped)"), at("Free")
	if min(kind, index, computing, waiting, free) < 0 {
		return nil, input.At(input.Pos{File: name}, input.Bad(input.ErrMissing, "a table of an Ascend cluster without the columns Type, Index, Computing, Communication(Not Overlapped) and Free"))
	}
	ranks := map[int]*rankTimes{}
	for line := int64(2); ; line++ {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, input.At(input.Pos{File: name, Line: line}, input.Bad(input.ErrFormat, "a row of the table: %v", err))
		}
		if len(row) <= max(kind, index, computing, waiting, free) || row[kind] != "rank" {
			continue
		}
		rank, err := strconv.Atoi(strings.TrimSpace(row[index]))
		if err != nil || rank < 0 || rank >= trace.MaxRanks {
			return nil, input.At(input.Pos{File: name, Line: line}, input.Bad(input.ErrRange, "rank %.20q", row[index]))
		}
		if ranks[rank] == nil {
			ranks[rank] = &rankTimes{}
		}
		for at, to := range map[int]*float64{computing: &ranks[rank].computing, waiting: &ranks[rank].waiting, free: &ranks[rank].free} {
			x, err := strconv.ParseFloat(row[at], 64)
			if err != nil || !(x >= 0 && x < 1e15) {
				return nil, input.At(input.Pos{File: name, Line: line}, input.Bad(input.ErrType, "%.40q in column %s, expected µs", row[at], columns[at]))
			}
			*to += x
		}
	}
	waits, compute := map[int]float64{}, map[int]float64{}
	for rank, t := range ranks {
		waits[rank], compute[rank] = t.waiting, t.computing+t.free
	}
	return waitsLeast(name, "communicates", waits, compute, 1)
}

// clusterCommunication reads cluster_communication.json.
func clusterCommunication(src io.Reader, name string, lim ingest.Limits) ([]health.Event, error) {
	most := lim.OrDefault().Line
	text, err := io.ReadAll(io.LimitReader(src, most+1))
	if err == nil && int64(len(text)) > most {
		err = input.At(input.Pos{File: name}, input.Bad(input.ErrTooLarge, "more than %d MiB", most>>20))
	}
	if err != nil {
		return nil, err
	}
	var groups map[string]map[string]map[string]map[string]struct {
		Time struct {
			Waits float64 `json:"Wait Time(ms)"`
		} `json:"Communication Time Info"`
	}
	if err := json.Unmarshal(text, &groups); err != nil {
		return nil, input.At(input.Pos{File: name, Offset: offset(err, len(text))}, input.Bad(input.ErrFormat, "no communication of an Ascend cluster (%v): groups, steps, operations, ranks", err))
	}
	waits := map[int]float64{}
	for _, steps := range groups {
		for _, operations := range steps {
			for operation, ranks := range operations {
				if operation == "Total Op Info" { // the sum of the others
					continue
				}
				for of, x := range ranks {
					rank, err := strconv.Atoi(of)
					if w := x.Time.Waits; err == nil && rank >= 0 && rank < trace.MaxRanks && w >= 0 && w < 1e12 {
						waits[rank] += w
					}
				}
			}
		}
	}
	return waitsLeast(name, "waits in communication", waits, nil, 1000)
}

// leastOf is the part of what most ranks wait below which a rank stands out.
const leastOf = 0.75

// waitsLeast concludes which rank waits least for the others, of times in some unit of µs. One that computes less as well is no suspect: it has less to do.
func waitsLeast(name, verb string, waits, busy map[int]float64, unit float64) ([]health.Event, error) {
	ranks := slices.Sorted(maps.Keys(waits))
	if len(ranks) < 2 {
		return nil, input.At(input.Pos{File: name}, input.Bad(input.ErrMissing, "times of %d ranks of an Ascend cluster, of which two or more can be compared", len(ranks)))
	}
	slices.SortStableFunc(ranks, func(x, y int) int { return compareTimes(waits[x], waits[y]) })
	length := func(rank int) time.Duration {
		d := time.Duration(waits[rank] * unit * 1e3)
		return d.Round(max(1, d/1000))
	}
	least, next, most := ranks[0], ranks[1], ranks[len(ranks)-1]
	middle := waits[ranks[len(ranks)/2]]
	spread := fmt.Sprintf("of %d ranks of an Ascend cluster rank %d %s least, %v, the others %v to %v", len(ranks), least, verb, length(least), length(next), length(most))
	if !(waits[least] < leastOf*middle) || busy != nil && busy[least] < busy[next] {
		return []health.Event{conclusion(spread+": none stands out", "")}, nil
	}
	return []health.Event{conclusion(spread+": they may wait for it", "", least)}, nil
}

func compareTimes(x, y float64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
