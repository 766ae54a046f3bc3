package main

import (
	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nccltests"
	"github.com/sfstat/sfstat/trace/nccl"
)

// benchmarks reads the files of --limit; nil without any.
func benchmarks(c *cli.Context) (*comm.Benchmarks, error) {
	files := c.List("limit")
	if len(files) == 0 {
		return nil, nil
	}
	var all []nccl.Benchmark
	for _, path := range files {
		rows, err := benchmarksIn(path)
		if err != nil {
			return nil, badInput(err)
		}
		all = append(all, rows...)
	}
	return comm.NewBenchmarks(all), nil
}

func benchmarksIn(path string) ([]nccl.Benchmark, error) {
	src, err := ingest.Open(path, ingest.Limits{})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return nccltests.Read(src, ingest.Limits{})
}
