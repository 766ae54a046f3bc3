package auto

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestNumbersInLogNames: the number in a log's name is a rank's where a word says so, or the logs of a job are numbered from 0 on.
func TestNumbersInLogNames(t *testing.T) {
	for _, c := range []struct {
		paths []string
		want  []int
	}{
		{[]string{"job/slurm-33812.out"}, []int{-1}},
		{[]string{"job/train_v2.log"}, []int{-1}},
		{[]string{"job/rank3.log"}, []int{3}},
		{[]string{"job/workerlog.3"}, []int{3}},
		{[]string{"job/3/stdout.log"}, []int{-1}},
		{[]string{"001/train.log"}, []int{-1}},
		{[]string{"rank_3/train.log"}, []int{3}},
		{[]string{"job/0/stdout.log", "job/1/stdout.log"}, []int{0, 1}},
		{[]string{"job/log_0.txt", "job/log_1.txt", "job/log_3.txt"}, []int{0, 1, 3}},
		{[]string{"job/slurm-33812.out", "job/slurm-33813.out"}, []int{-1, -1}},
		{[]string{"job/train.log", "job/train.log.1", "job/train.log.2"}, []int{-1, -1, -1}},
		{[]string{"job/rank_3.log", "job/rank_3.log.1", "job/rank_3.log.2.gz"}, []int{3, 3, 3}},
	} {
		u := &unit{r: &Reader{}}
		for _, p := range c.paths {
			u.inputs = append(u.inputs, &Input{Path: p})
		}
		for i, l := range u.inputs {
			if rank, _ := u.rankOf(l); rank != c.want[i] {
				t.Errorf("%s of %d: rank %d, want %d", l.Path, len(c.paths), rank, c.want[i])
			}
		}
	}
}

// A table that lacks the rank, as trackers write it, is read where a folder has nothing else; beside another recording it is passed over.
func TestTablesAlone(t *testing.T) {
	table, log := "epoch,iter_time,step,train_loss\n0,,0,2.7\n", ""
	for i := range 20 {
		table += fmt.Sprintf("0,0.4%02d,%d,2.1\n", i%7, i+1)
		for r := range 2 {
			log += fmt.Sprintf("[rank%d]: step %d data_time: 0.01%d time: 0.4\n", r, i, i%7)
		}
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"alone":        {map[string]string{"version_0/metrics.csv": table, "notes.txt": "hello"}, "metrics.csv 1"},
		"beside a log": {map[string]string{"version_0/metrics.csv": table, "train.log": log}, "train 2"},
	} {
		r, err := Open([]string{folderOf(t, c.files)}, Options{Joined: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for j, err := range r.Jobs() {
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range j.Windows {
				got = append(got, fmt.Sprintf("%s %d", w.Run, len(w.Ranks)))
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %s", name, got, c.want)
		}
		r.Close()
	}
}

// TestLastLineOfLog: a log that ends in the middle of a line is noted, but not one that ends in a progress bar, which ends no line.
func TestLastLineOfLog(t *testing.T) {
	bars, lines := "", ""
	for i := range 20 {
		bars += fmt.Sprintf("\r %d%%|##  | %d/20 [00:10<00:10, 4.0%dit/s]", 5*i, i, i%7)
		lines += fmt.Sprintf("\nstep %d time: 0.4%d", i, i%7)
	}
	for name, c := range map[string]struct {
		log  string
		want bool
	}{"bars": {bars, false}, "a cut bar": {bars[:len(bars)-5], true}, "bars, then a line": {bars + "\nsaved to", true}, "lines": {lines, true}, "whole lines": {lines + "\n", false}} {
		r, err := Open([]string{filepath.Join(folderOf(t, map[string]string{"train.log": c.log}), "train.log")}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range r.Jobs() {
			if err != nil {
				t.Fatal(err)
			}
		}
		if noted := len(r.Problems()) > 0; noted != c.want {
			t.Errorf("%s: noted %v, expected %v", name, noted, c.want)
		}
		r.Close()
	}
}

// TestLogsOfHosts: logs in a folder for each host are of one job where their names say the ranks, through all hosts or on each, and of as
// many jobs as there are folders where they do not.
func TestLogsOfHosts(t *testing.T) {
	log := ""
	for i := range 5 {
		log += fmt.Sprintf("INFO step %d time 0.12%d data_time 0.01\n", i, i)
	}
	for name, c := range map[string]struct {
		files []string
		want  string // runs with their ranks and hosts
	}{
		"through all hosts": {[]string{"j/node0/rank_0.log", "j/node0/rank_1.log", "j/node1/rank_2.log"}, "j 0:node0 1:node0 2:node1"},
		"on each host":      {[]string{"j/node9/rank_0.log", "j/node9/rank_1.log", "j/node10/rank_0.log", "j/node10/rank_1.log"}, "j 0:node9 1:node9 2:node10 3:node10"},
		"one host":          {[]string{"j/node0/rank_0.log", "j/node0/rank_1.log"}, "node0 0 1"},
		"no ranks":          {[]string{"j/node0/train.log", "j/node1/train.log"}, "node1/train 0, train 0"},
	} {
		files := make(map[string]string)
		for i, path := range c.files {
			files[path] = strings.ReplaceAll(log, "0.12", fmt.Sprintf("0.1%d", 2+i))
		}
		_, windows, err := read(t, Options{}, folderOf(t, files))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if text := listRuns(windows); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}
