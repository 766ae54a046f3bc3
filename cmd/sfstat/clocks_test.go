package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sfstat/sfstat/internal/disk/disktest"
)

// TestWrongClocks: what follows, serves and runs campaigns does what it does by a clock that is right when the clock is set back
// or forward by days, or stands still.
func TestWrongClocks(t *testing.T) {
	jobs := folderOfJob(t)
	spec := filepath.Join(root, "fixtures", "campaign", "small.yaml")
	wanted := make(map[string]string) // of the first clock
	for name, clock := range disktest.WrongClocks() {
		t.Run(name, func(t *testing.T) {
			for command, args := range map[string][]string{
				"watch":    {"watch", jobs, "--every", "10ms", "--idle", "50ms"},
				"follow":   {"convert", jobs, "--follow", "--once", "-o", "OUT/"},
				"campaign": {"campaign", "run", spec, "-o", "OUT"},
			} {
				to := filepath.Join(t.TempDir(), "out")
				line := []string{"sfstat"}
				for _, arg := range args {
					line = append(line, strings.Replace(arg, "OUT", to, 1))
				}
				var out, said bytes.Buffer
				p := newProgram(nil, &out, &said)
				p.workOn(clock)
				code := p.run(p.app(), line)
				got := out.String() + contents(t, to, true)
				if want, known := wanted[command]; code != exitDone || got == "" || known && got != want {
					t.Errorf("%s: exit code %d, %s: %.300q, expected %.300q", command, code, said.String(), got, want)
				}
				wanted[command] = got
			}
			address, stop := startServeOn(t, clock, jobs, "--every", "10ms")
			defer stop()
			for i := 0; !strings.Contains(fetched(t, address+"metrics"), "sfstat_runs 1\n"); i++ {
				if i == 1000 {
					t.Fatal("the run does not come")
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
}
