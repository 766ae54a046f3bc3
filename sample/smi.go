package sample

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// openSMI returns nvidia-smi, which reads the GPUs of this machine; the error says why it cannot.
func openSMI() (*command, error) {
	smi, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return nil, errors.New("there is no nvidia-smi")
	}
	s := &command{path: smi}
	began := time.Now()
	if _, err := s.Metrics(); err != nil {
		return nil, err
	}
	s.took = time.Since(began)
	return s, nil
}

// metrics are the names of readings, in the order of columns.
var metrics = []string{"DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_MEM_CLOCK", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE",
	"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"}

// columns are what nvidia-smi calls them; drivers before 535 know an older name of the reasons.
const (
	columns = "index,pci.bus_id,clocks.sm,clocks.mem,%s,temperature.gpu,power.draw,utilization.gpu,ecc.errors.corrected.volatile.total,ecc.errors.uncorrected.volatile.total"
	reasons = "clocks_event_reasons.active"
	older   = "clocks_throttle_reasons.active"
)

// command reads by nvidia-smi.
type command struct {
	path string
	old  bool          // the driver knows the older name
	took time.Duration // of the first call
}

// Name implements Source.
func (c *command) Name() string { return "GPUs by nvidia-smi" }

// MinInterval implements Source: a process that starts, asks the driver and ends takes a good part of a second, so
// half of the time at most is spent on it.
func (c *command) MinInterval() time.Duration { return 2 * c.took }

// Close implements Source.
func (c *command) Close() {}

// patience bounds a call of nvidia-smi, which hangs where a GPU does.
const patience = 10 * time.Second

// Metrics implements Source.
func (c *command) Metrics() ([]Metric, error) {
	out, err := c.query()
	if err != nil && !c.old {
		c.old = true
		out, err = c.query()
	}
	if err != nil {
		// It says what is wrong where its answer would be.
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return nil, fmt.Errorf("nvidia-smi: %w %s", err, first)
	}
	return parse(out)
}

func (c *command) query() ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	name := reasons
	if c.old {
		name = older
	}
	return exec.CommandContext(ctx, c.path, "--query-gpu="+fmt.Sprintf(columns, name), "--format=csv,noheader,nounits").Output()
}

// parse reads what nvidia-smi printed; what a GPU does not have ("[N/A]") is left out.
func parse(text []byte) (out []Metric, err error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord, r.TrimLeadingSpace = 2+len(metrics), true
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("nvidia-smi: %w", err)
	}
	for _, row := range rows {
		for i, cell := range row[2:] {
			cell = strings.TrimSpace(cell)
			value, err := strconv.ParseFloat(cell, 64)
			if bits, ok := strings.CutPrefix(cell, "0x"); ok {
				var n uint64
				n, err = strconv.ParseUint(bits, 16, 53)
				value = float64(n)
			}
			if err == nil && value >= 0 {
				out = append(out, Metric{Name: metrics[i], Labels: fmt.Sprintf("gpu=%q,pci_bus_id=%q", row[0], row[1]), Value: value})
			}
		}
	}
	return out, nil
}
