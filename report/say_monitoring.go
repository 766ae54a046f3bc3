package report

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
)

// Sentences about what monitoring recorded: without a full stop.

func sayProbeTime(e evidence.ProbeTime) string {
	return fmt.Sprintf("probe %s: %s a step on rank %d, %s on its peers (median of %d), over %s, %s",
		strings.TrimSuffix(e.Channel, trace.ProbeSuffix), length(e.Own), e.Rank, length(e.Peers), e.N, table.Counted(e.Steps, "step"), pValue(e.P))
}

func sayMonitored(e evidence.Monitored) string {
	at := "at the same time"
	if e.Timeless {
		at = "at a time that is not known"
	}
	if len(e.Alike) > 0 {
		return fmt.Sprintf("%s %s was like the others in %s", at, sayUnit(e.Host, e.Device), andList(each(e.Alike, quantityName)))
	}
	text := fmt.Sprintf("%s, which proves nothing: %s, %s %s", at, sayDid(&e), sayOthers(&e), valueWithUnit(e.Peers, e.Unit))
	if e.N > 1 {
		text += fmt.Sprintf(" (median; %s to %s)", valueWithUnit(e.Low, e.Unit), valueWithUnit(e.High, e.Unit))
	}
	if e.Tested {
		text += fmt.Sprintf(", %s after %s", pValue(e.P), table.Counted(e.Tests, "comparison"))
	} else if e.N < 4 {
		text += ", too few for a test"
	}
	if e.Zoneless && !e.Timeless {
		text += zoneUnnamed
	}
	return text
}

const zoneUnnamed = "; its times name no zone (--time-zone)"

// sayUnit names a GPU, or a host as a whole.
func sayUnit(host string, device *int) string {
	if device == nil {
		return glyph.Visible(host)
	}
	return fmt.Sprintf("GPU %d of %s", *device, glyph.Visible(host))
}

// sayDid states what a GPU or host did: "GPU 3 of node7 ran at 1 200 MHz".
func sayDid(e *evidence.Monitored) string {
	text := fmt.Sprintf("%s %s %s", sayUnit(e.Host, e.Device), quantityOf(e.Quantity).did, valueWithUnit(e.Own, e.Unit))
	if e.Step > 0 {
		text += " of the time"
		if !e.Timeless {
			text += fmt.Sprintf(", %s of a %s step on average", length(e.Slowed), length(e.Step))
		}
	}
	return text
}

func sayOthers(e *evidence.Monitored) string {
	noun := "host"
	if e.Device != nil {
		noun = "GPU"
	}
	if e.N == 1 {
		return "one other " + noun
	}
	return fmt.Sprintf("%d other %ss", e.N, noun)
}

func sayReported(e evidence.Reported) string {
	if e.Event == "tool_report" {
		return trimStop(e.Text)
	}
	at := "at the same time"
	if e.At == 0 {
		at = "at a time that is not known"
	} else if e.Timeless {
		at = "perhaps at another time"
	}
	text := fmt.Sprintf("%s, which proves nothing: the kernel of %s reported %s", at, glyph.Visible(e.Host), sayEvent(&e))
	if e.Device != nil {
		text += fmt.Sprintf(" of GPU %d", *e.Device)
	}
	if e.At > 0 {
		text += " at " + clockWord(e.At)
	}
	if e.N > 1 {
		text += fmt.Sprintf(", %d times", e.N)
	}
	if e.Text != "" {
		text += fmt.Sprintf(" (%s)", trimStop(e.Text))
	}
	if e.Zoneless && e.At > 0 {
		text += zoneUnnamed
	}
	return text
}

// sayEvent names an event of a kernel log with its code.
func sayEvent(e *evidence.Reported) string {
	text := glyph.Visible(e.Event)
	switch e.Event {
	case "xid":
		text = "Xid"
	case "machine_check":
		text = "a machine check"
	case "out_of_memory":
		text = "a process killed for want of memory"
	case "cpu_overheated":
		text = "a CPU throttled for heat"
	case "link_down":
		text = "a network link down"
	}
	if e.Code > 0 {
		text += fmt.Sprintf(" %d", e.Code)
	}
	return text
}

// quantity is how a quantity of monitoring is spoken of.
type quantity struct {
	name  string // of it
	did   string // what a GPU or host did, before its value
	check string // what to do where it is unusual; "": not known
}

// quantityOf returns the words for a quantity; one that is not known keeps its name.
func quantityOf(name string) quantity {
	switch name {
	case "sm_clock":
		return quantity{"SM clock", "ran at", "check its throttle reasons"}
	case "memory_clock":
		return quantity{"memory clock", "ran its memory at", "check its throttle reasons"}
	case "throttled":
		return quantity{"throttling", "was throttled by heat or hardware in", "check its cooling and power supply"}
	case "power_capped":
		return quantity{"power capping", "was held at its power limit in", "check that limit"}
	case "temperature":
		return quantity{"temperature", "was at", "check its cooling"}
	case "memory_temperature":
		return quantity{"memory temperature", "had its memory at", "check its cooling"}
	case "power":
		return quantity{"power", "drew", "check its power limit and throttle reasons"}
	case "utilization":
		return quantity{"utilization", "was busy in", "see what ran on it"}
	case "ecc_corrected":
		return quantity{"corrected memory errors", "corrected memory errors,", "check its memory (nvidia-smi -q -d ECC)"}
	case "ecc_uncorrected":
		return quantity{"uncorrected memory errors", "had uncorrected memory errors,", "check its memory (nvidia-smi -q -d ECC), or drain it"}
	case "pcie_replays":
		return quantity{"PCIe replays", "repeated PCIe transfers,", "check its PCIe link"}
	case "thermal_slowdown_time":
		return quantity{"time throttled for heat", "was throttled for heat in", "check its cooling"}
	case "hw_thermal_slowdown_time":
		return quantity{"time at half the clock for heat", "was slowed to half its clock or less for heat in", "check its cooling"}
	case "power_brake_time":
		return quantity{"time at half the clock for the power supply", "was slowed to half its clock or less by the power supply (power brake) in", "check the power supply of the host"}
	case "power_cap_time":
		return quantity{"time at the power limit", "was held at its power limit in", "check that limit"}
	case "nvlink_replays":
		return quantity{"NVLink replays", "repeated NVLink transfers,", "check its NVLinks (nvidia-smi nvlink -e)"}
	case "nvlink_recoveries":
		return quantity{"NVLink recoveries", "trained NVLinks again,", "check its NVLinks (nvidia-smi nvlink -e)"}
	case "nvlink_errors":
		return quantity{"NVLink errors", "received damaged data over NVLink,", "check its NVLinks (nvidia-smi nvlink -e)"}
	case "rows_remapped":
		return quantity{"rows remapped for uncorrectable errors", "replaced rows of memory for uncorrectable errors,", "check its memory (nvidia-smi -q -d ROW_REMAPPER), or drain it"}
	case "rows_remapped_corrected":
		return quantity{"rows remapped for correctable errors", "replaced rows of memory for correctable errors,", "check its memory (nvidia-smi -q -d ROW_REMAPPER)"}
	case "row_remap_pending":
		return quantity{"rows that wait for a reset", "had a row of memory that waits for a reset, in", "reset it when the job has ended"}
	case "row_remap_failed":
		return quantity{"rows that could not be replaced", "had a row of memory that could not be replaced, in", "have it replaced"}
	case "cpu_busy":
		return quantity{"CPU load", "used its CPUs for", "see what else runs there"}
	case "cpu_steal":
		return quantity{"stolen CPU time", "lost to other guests, of its CPU time,", "see what else runs on that machine"}
	case "cpu_wait_io":
		return quantity{"CPU time waiting for storage", "waited for storage, of its CPU time,", "check its storage"}
	case "load":
		return quantity{"load", "had a load per CPU of", "see what else runs there"}
	case "cpu_clock":
		return quantity{"CPU clock", "ran its CPUs at", "check their governor and cooling"}
	case "cpu_throttled":
		return quantity{"CPU throttling", "throttled its CPUs for heat,", "check its cooling"}
	case "memory_available":
		return quantity{"available memory", "had available, of its memory,", "see what uses it"}
	case "pressure_cpu":
		return quantity{"CPU pressure", "let tasks wait for a CPU in", "see what else runs there"}
	case "pressure_memory":
		return quantity{"memory pressure", "let tasks wait for memory in", "see what uses it"}
	case "pressure_io":
		return quantity{"storage pressure", "let tasks wait for storage in", "check its storage"}
	case "swap_in":
		return quantity{"pages swapped in", "swapped pages in,", "see what uses its memory"}
	case "oom_kills":
		return quantity{"processes killed for want of memory", "killed processes for want of memory,", "see what uses it"}
	case "tcp_retransmits":
		return quantity{"TCP retransmits", "sent TCP segments again,", "check its network links"}
	case "network_drops":
		return quantity{"network drops and errors", "dropped packets,", "check its network links"}
	}
	shown := glyph.Visible(name)
	return quantity{name: shown, did: "had a " + shown + " of"}
}

// quantityName returns what people call a quantity of monitoring.
func quantityName(name string) string { return quantityOf(name).name }
