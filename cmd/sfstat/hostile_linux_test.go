package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// packetOf returns a packet of one step on one rank, with 1 µs in each stage; more are further fields.
func packetOf(window, rank, world int, stages []string, more string) string {
	times := strings.TrimSuffix(strings.Repeat("1000,", len(stages)), ",")
	return fmt.Sprintf(`{"schema":"sfstat.packet/1","run":"r","window":%d,"rank":%d,"world_size":%d,"stages":["%s"],"first_step":%d,"durations_ns":[[%s]]%s}`+"\n",
		window, rank, world, strings.Join(stages, `","`), window, times, more)
}

// numbered returns names that begin alike.
func numbered(format string, window, n int) (names []string) {
	for k := range n {
		names = append(names, fmt.Sprintf(format, window, k))
	}
	return names
}

// TestHostileMemory: small files in which some count multiplies what is kept take no more than 300 MB, whether they are
// read or refused.
func TestHostileMemory(t *testing.T) {
	t.Parallel()
	const most = 300_000 // kB
	one := []string{"a"}
	for _, c := range []struct {
		name    string
		command []string // with the file where IN stands
		bytes   int
		code    int
		line    func(i int) string
	}{
		{"one rank of 16,384", []string{"diagnose", "IN"}, 1e6, exitDone, func(i int) string { return packetOf(i, 0, 16384, one, "") }},
		{"one rank of a million", []string{"batch", "IN", "-o", "OUT.csv"}, 1e6, exitDone, func(i int) string { return packetOf(i, 0, 1<<20, one, "") }},
		{"another rank in each window", []string{"diagnose", "IN"}, 1e6, exitDone, func(i int) string { return packetOf(i, i, 1<<20, one, "") }},
		{"another rank in each of many windows", []string{"batch", "IN", "-o", "OUT.csv"}, 2e6, exitDone, func(i int) string { return packetOf(i, i, 1<<20, one, "") }},
		{"one rank of 16,384 on a page", []string{"report", "IN", "-o", "OUT.html"}, 2e6, exitDone, func(i int) string { return packetOf(i, 0, 16384, one, "") }},
		{"one rank of 16,384 whose epochs are known", []string{"report", "IN", "-o", "OUT.html"}, 2e6, exitDone, func(i int) string {
			return packetOf(i, 0, 16384, one, fmt.Sprintf(`,"epoch_ns":%d`, int64(1.7e18)+int64(i)*1e6))
		}},
		{"four hundred stages", []string{"diagnose", "IN"}, 2e6, exitDone, func(i int) string {
			if i == 0 {
				return "step,rank," + strings.Join(numbered("s%d.%d_ms", 0, 400), ",") + "\n"
			}
			return fmt.Sprintf("%d,%d%s\n", i/4, i%4, strings.Repeat(",1", 400))
		}},
		{"another run in each row", []string{"inspect", "IN"}, 2e6, exitBadInput, func(i int) string {
			if i == 0 {
				return "run,step,rank,a_ms\n"
			}
			return fmt.Sprintf("r%d,0,0,1\n", i)
		}},
		{"other stages in each window", []string{"batch", "IN", "-o", "OUT.csv"}, 2e6, exitDone, func(i int) string { return packetOf(i, 0, 1, numbered("s%d.%d", i, 100), "") }},
		{"other side channels in each window", []string{"convert", "IN", "-o", "OUT.parquet"}, 2e6, exitBadInput, func(i int) string {
			var side strings.Builder
			for k, name := range numbered("c%d.%d", i, 100) {
				fmt.Fprintf(&side, `%.*s"%s":{"steps":[%d],"ms":[1],"ready":[true]}`, min(k, 1), ",", name, i)
			}
			return packetOf(i, 0, 1, one, `,"side":{`+side.String()+"}")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var text strings.Builder
			for i := 0; text.Len() < c.bytes; i++ {
				text.WriteString(c.line(i))
			}
			dir := t.TempDir()
			in := filepath.Join(dir, "in.jsonl")
			if err := os.WriteFile(in, []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			var args []string
			for _, arg := range c.command {
				args = append(args, strings.NewReplacer("IN", in, "OUT", filepath.Join(dir, "out")).Replace(arg))
			}
			cmd := exec.Command("sfstat", args...)
			cmd.Env, cmd.Stdout = append(os.Environ(), "GOGC=100"), io.Discard
			var said strings.Builder
			cmd.Stderr = &said
			kB := int64(0)
			if code := exitOf(runMeasured(cmd, &kB)); code != c.code || code != exitDone && strings.Count(said.String(), "\n") != 1 {
				t.Errorf("exit code %d, expected %d: %.300s", code, c.code, said.String())
			}
			if t.Logf("%.1f MB, %d MB of memory, %v", float64(text.Len())/1e6, kB/1000, cmd.ProcessState.UserTime()); kB > most {
				t.Errorf("%d MB, at most %d", kB/1000, most/1000)
			}
		})
	}
}

// runMeasured runs a program and keeps the most memory that it has had resident, kB, as its own pages say: the usage
// that a parent is told begins with the parent's.
func runMeasured(cmd *exec.Cmd, kB *int64) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	status := fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)
	ended, polled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(polled)
		for {
			if text, err := os.ReadFile(status); err == nil && strings.HasPrefix(string(text), "Name:\tsfstat\n") {
				if _, after, found := strings.Cut(string(text), "VmHWM:"); found {
					number, _, _ := strings.Cut(strings.TrimSpace(after), " ")
					n, _ := strconv.ParseInt(number, 10, 64)
					*kB = max(*kB, n)
				}
			}
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	err := cmd.Wait()
	close(ended)
	<-polled
	return err
}
