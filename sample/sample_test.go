package sample

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest/telemetry"
	"github.com/sfstat/sfstat/trace/health"
)

// machine is a host of two processors.
var machine = fstest.MapFS{
	"proc/stat":            {Data: []byte("cpu  1000 0 200 5000 40 0 10 60 0 0\ncpu0 500 0 100 2500 20 0 5 30 0 0\ncpu1 500 0 100 2500 20 0 5 30 0 0\nintr 1\n")},
	"proc/meminfo":         {Data: []byte("MemTotal:       1000 kB\nMemFree:  100 kB\nMemAvailable:    250 kB\n")},
	"proc/vmstat":          {Data: []byte("pswpin 7\noom_kill 1\n")},
	"proc/pressure/memory": {Data: []byte("some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")},
	"proc/net/snmp":        {Data: []byte("Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm RetransSegs InErrs\nTcp: 1 42 0\n")},
	"proc/net/dev":         {Data: []byte("Inter-|   Receive  |  Transmit\n face |bytes packets errs drop\n    lo: 1 1 9 9 0 0 0 0 1 1 9 9 0 0 0 0\n  eth0: 1 1 1 2 0 0 0 0 1 1 3 4 0 0 0 0\n")},
	"sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": {Data: []byte("3000000\n")},
	"sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": {Data: []byte("2000000\n")},
}

// TestHost: what is written is read back by the reader of metrics.
func TestHost(t *testing.T) {
	var out bytes.Buffer
	if err := Run(t.Context(), &out, []Source{Host{machine}}, Options{Host: "h2", Every: time.Millisecond, Count: 1}, func(_ Source, err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	if !telemetry.Metrics.Recognises(out.Bytes()) {
		t.Error("not recognised")
	}
	got, err := telemetry.Read(&out, "h2.prom", telemetry.Metrics, telemetry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[health.Quantity]float64{health.CPUBusy: 6.05, health.CPUSteal: 0.3, health.CPUWaitIO: 0.2, health.CPUClock: 2500, health.MemoryAvailable: 0.25,
		health.PressureMemory: 1.5, health.SwapIn: 7, health.OOMKills: 1, health.Retransmits: 42, health.NetworkDrops: 10}
	values := make(map[health.Quantity]float64)
	for _, s := range got.Series {
		if s.Host != "h2" || s.Device != -1 || len(s.Readings) != 1 || s.Readings[0].At == 0 {
			t.Errorf("%+v, expected one reading of h2 with its time", s)
		}
		values[s.Quantity] = s.Readings[0].Value
	}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Error(diff)
	}
}

func TestNoHost(t *testing.T) {
	if _, err := (Host{fstest.MapFS{}}).Metrics(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, expected that proc/stat does not exist", err)
	}
}

// TestNvidiaSMI: what nvidia-smi prints becomes what DCGM's exporter would.
func TestNvidiaSMI(t *testing.T) {
	got, err := parse([]byte("0, 00000000:3B:00.0, 1755, 1593, 0x0000000000000044, 61, 402.10, 98, 0, 2\n1, 00000000:86:00.0, 1005, 1593, 0x0, 88, [N/A], 99, [N/A], [N/A]\n"))
	if err != nil {
		t.Fatal(err)
	}
	const first, second = `gpu="0",pci_bus_id="00000000:3B:00.0"`, `gpu="1",pci_bus_id="00000000:86:00.0"`
	want := []Metric{{Name: "DCGM_FI_DEV_SM_CLOCK", Labels: first, Value: 1755}, {Name: "DCGM_FI_DEV_MEM_CLOCK", Labels: first, Value: 1593}, {Name: "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", Labels: first, Value: 0x44},
		{Name: "DCGM_FI_DEV_GPU_TEMP", Labels: first, Value: 61}, {Name: "DCGM_FI_DEV_POWER_USAGE", Labels: first, Value: 402.1}, {Name: "DCGM_FI_DEV_GPU_UTIL", Labels: first, Value: 98}, {Name: "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", Labels: first, Value: 0}, {Name: "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", Labels: first, Value: 2},
		{Name: "DCGM_FI_DEV_SM_CLOCK", Labels: second, Value: 1005}, {Name: "DCGM_FI_DEV_MEM_CLOCK", Labels: second, Value: 1593}, {Name: "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", Labels: second, Value: 0}, {Name: "DCGM_FI_DEV_GPU_TEMP", Labels: second, Value: 88}, {Name: "DCGM_FI_DEV_GPU_UTIL", Labels: second, Value: 99}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := parse([]byte("Unable to determine the device handle\n")); err == nil {
		t.Error("a message was taken for readings")
	}
}

// TestOpenSMI: nvidia-smi of an older driver is asked again by the name that it knows; what one says
// that fails is passed on.
func TestOpenSMI(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in is a shell script")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	standIn := func(script string) {
		if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\n"+script), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := openSMI(); err == nil || err.Error() != "there is no nvidia-smi" {
		t.Errorf("without nvidia-smi: %v", err)
	}
	standIn(`case "$1" in *clocks_throttle_reasons*) echo '0, 00000000:3B:00.0, 1755, 1593, 0x4, 61, 402.10, 98, 0, 2';; *) echo 'Field "clocks_event_reasons.active" is not valid'; exit 2;; esac`)
	smi, err := openSMI()
	if err != nil {
		t.Fatal(err)
	}
	if metrics, err := smi.Metrics(); err != nil || len(metrics) != 8 {
		t.Errorf("%d metrics, %v, expected 8", len(metrics), err)
	}
	standIn("echo 'NVIDIA-SMI has failed because it could not reach the driver.'; exit 9")
	if _, err := openSMI(); err == nil || err.Error() != "nvidia-smi: exit status 9 NVIDIA-SMI has failed because it could not reach the driver." {
		t.Errorf("nvidia-smi that fails: %v", err)
	}
}

// broken is a source that fails.
type broken struct{}

func (broken) Name() string               { return "broken" }
func (broken) Metrics() ([]Metric, error) { return nil, errors.New("lost") }
func (broken) MinInterval() time.Duration { return 0 }
func (broken) Close()                     {}

// slow is a source that takes its time.
type slow struct{ broken }

func (slow) Metrics() ([]Metric, error) { time.Sleep(130 * time.Millisecond); return nil, nil }

// seldomRead is a source that is not to be read more often than once in 250 ms.
type seldomRead struct{ broken }

func (seldomRead) Metrics() ([]Metric, error) { return []Metric{{Name: "x"}}, nil }
func (seldomRead) MinInterval() time.Duration { return 250 * time.Millisecond }

// TestEvery: a source that takes longer than its turn is told once; one that is read less often than asked is read at
// every third sample. Time is that of the bubble.
func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var said []string
		tell := func(_ Source, err error) { said = append(said, err.Error()) }
		if err := Run(t.Context(), &out, []Source{slow{}}, Options{Every: 100 * time.Millisecond, Count: 3}, tell); err != nil {
			t.Fatal(err)
		}
		if len(said) != 1 || !strings.HasPrefix(said[0], "a sample takes longer than 100ms") {
			t.Errorf("told %q, expected once that a sample takes longer than 100ms", said)
		}
		said = nil
		if err := Run(t.Context(), &out, []Source{seldomRead{}}, Options{Every: 100 * time.Millisecond, Count: 7}, tell); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(out.Bytes(), []byte("x{")); n != 3 || said != nil {
			t.Errorf("%d of 7 samples and %q, expected the first, fourth and seventh, and nothing told", n, said)
		}
	})
}

// TestFailure: a failure is told once, and the others are sampled.
func TestFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		told := 0
		if err := Run(t.Context(), &out, []Source{broken{}, Host{machine}}, Options{Host: "h", Every: time.Second, Count: 3}, func(Source, error) { told++ }); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(out.Bytes(), []byte("node_vmstat_pswpin")); told != 1 || n != 3 {
			t.Errorf("told %d times, %d samples, expected 1 and 3", told, n)
		}
	})
}
