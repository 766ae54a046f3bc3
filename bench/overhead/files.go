package main

import (
	"encoding/csv"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sfstat/sfstat/internal/atomicfile"
)

var pairsHead = []string{"pair", "base_ns", "with_ns", "round", "base_place", "with_place",
	"base_thread_cpu_ns", "with_thread_cpu_ns", "base_process_cpu_ns", "with_process_cpu_ns"}

var chunksHead = []string{"launch", "round", "arm", "place", "steps", "begin", "end", "wall_ns", "thread_cpu_ns", "process_cpu_ns"}

var gpusHead = []string{"launch", "round", "arm", "begin", "end", "gpu", "samples", "least_sm_mhz", "max_sm_mhz", "least_mem_mhz",
	"busy_percent", "most_celsius", "ecc_errors", "throttled_by", "doubtful"}

// write writes all results so far: pairs of each arm, as sfstat overhead reads
// them, all chunks, and what the GPUs did, if any were watched.
func write(dir string, chunks []Chunk) error {
	tables := map[string][][]string{"chunks.csv": chunkRows(chunks)}
	if gpus := gpuRows(chunks); len(gpus) > 1 {
		tables["gpus.csv"] = gpus
	}
	for arm := CPU; arm < arms; arm++ {
		pairs, _ := pairsOf(chunks, arm)
		tables["pairs-"+arm.String()+".csv"] = pairRows(pairs)
	}
	for name, rows := range tables {
		if err := atomicfile.WriteFile(filepath.Join(dir, name), func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) }); err != nil {
			return err
		}
	}
	return nil
}

func pairRows(pairs []pair) [][]string {
	rows := [][]string{pairsHead}
	for _, p := range pairs {
		b, w := p.base, p.with
		rows = append(rows, []string{strconv.Itoa(b.Launch), ns(b.Wall), ns(w.Wall), strconv.Itoa(b.Round), strconv.Itoa(b.Place), strconv.Itoa(w.Place),
			ns(b.Thread), ns(w.Thread), ns(b.Process), ns(w.Process)})
	}
	return rows
}

func chunkRows(chunks []Chunk) [][]string {
	rows := [][]string{chunksHead}
	for i := range chunks {
		c := &chunks[i]
		rows = append(rows, []string{strconv.Itoa(c.Launch), strconv.Itoa(c.Round), c.Arm.String(), strconv.Itoa(c.Place), strconv.Itoa(c.Steps),
			stamp(c.Begin), stamp(c.End), ns(c.Wall), ns(c.Thread), ns(c.Process)})
	}
	return rows
}

func gpuRows(chunks []Chunk) [][]string {
	rows := [][]string{gpusHead}
	for i := range chunks {
		c := &chunks[i]
		for _, g := range c.GPUs {
			rows = append(rows, []string{strconv.Itoa(c.Launch), strconv.Itoa(c.Round), c.Arm.String(), stamp(c.Begin), stamp(c.End),
				strconv.Itoa(g.GPU), strconv.Itoa(g.Samples), strconv.Itoa(g.LeastSM), strconv.Itoa(g.MaxSM), strconv.Itoa(g.LeastMem),
				strconv.Itoa(g.Busy), strconv.Itoa(g.MostDegrees), strconv.FormatUint(g.ECCErrors, 10), g.Reasons.String(), strconv.FormatBool(g.Doubtful())})
		}
	}
	return rows
}

func ns(x float64) string      { return strconv.FormatFloat(x, 'f', 0, 64) }
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
