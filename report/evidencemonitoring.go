package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/health"
)

func probeTime(e evidence.ProbeTime) string {
	return fmt.Sprintf("probe %s: %s a step on rank %d, %s on its peers (median of %d), over %s, %s", strings.TrimSuffix(e.Channel, trace.ProbeSuffix), length(float64(e.Own)), e.Rank,
		length(float64(e.Peers)), e.N, counted(e.Steps, "step"), pValue(e.P))
}

// quantityWords are, of each quantity: its name; what a GPU or host did, before its
// value; and what to do where it is unusual.
var quantityWords = map[health.Quantity]struct{ name, did, check string }{
	health.SMClock:           {"SM clock", "ran at", "check its throttle reasons"},
	health.MemoryClock:       {"memory clock", "ran its memory at", "check its throttle reasons"},
	health.Throttled:         {"throttling", "was throttled by heat or hardware in", "check its cooling and power supply"},
	health.PowerCapped:       {"power capping", "was held at its power limit in", "check that limit"},
	health.Temperature:       {"temperature", "was at", "check its cooling"},
	health.MemoryTemperature: {"memory temperature", "had its memory at", "check its cooling"},
	health.Power:             {"power", "drew", "check its power limit and throttle reasons"},
	health.Utilization:       {"utilization", "was busy in", "see what ran on it"},
	health.ECCCorrected:      {"corrected memory errors", "corrected memory errors,", "check its memory (nvidia-smi -q -d ECC)"},
	health.ECCUncorrected:    {"uncorrected memory errors", "had uncorrected memory errors,", "check its memory (nvidia-smi -q -d ECC), or drain it"},
	health.PCIeReplays:       {"PCIe replays", "repeated PCIe transfers,", "check its PCIe link"},
	health.CPUBusy:           {"CPU load", "used its CPUs for", "see what else runs there"},
	health.CPUSteal:          {"stolen CPU time", "lost to other guests, of its CPU time,", "see what else runs on that machine"},
	health.CPUWaitIO:         {"CPU time waiting for storage", "waited for storage, of its CPU time,", "check its storage"},
	health.Load:              {"load", "had a load per CPU of", "see what else runs there"},
	health.CPUClock:          {"CPU clock", "ran its CPUs at", "check their governor and cooling"},
	health.CPUThrottled:      {"CPU throttling", "throttled its CPUs for heat,", "check its cooling"},
	health.MemoryAvailable:   {"available memory", "had available, of its memory,", "see what uses it"},
	health.PressureCPU:       {"CPU pressure", "let tasks wait for a CPU in", "see what else runs there"},
	health.PressureMemory:    {"memory pressure", "let tasks wait for memory in", "see what uses it"},
	health.PressureIO:        {"storage pressure", "let tasks wait for storage in", "check its storage"},
	health.SwapIn:            {"pages swapped in", "swapped pages in,", "see what uses its memory"},
	health.OOMKills:          {"processes killed for want of memory", "killed processes for want of memory,", "see what uses it"},
	health.Retransmits:       {"TCP retransmits", "sent TCP segments again,", "check its network links"},
	health.NetworkDrops:      {"network drops and errors", "dropped packets,", "check its network links"},
}

// quantityOf is a quantity by its name.
func quantityOf(name string) health.Quantity {
	for _, q := range health.Quantities() {
		if q.String() == name {
			return q
		}
	}
	return health.NoQuantity
}

func quantityName(name string) string {
	if w, ok := quantityWords[quantityOf(name)]; ok {
		return w.name
	}
	return glyph.Visible(name)
}

func quantityList(names []string) string {
	return andList(each(names, quantityName))
}

// unitWord is "GPU 3 of h2", or "h2".
func unitWord(host string, device *int) string {
	if device == nil {
		return glyph.Visible(host)
	}
	return fmt.Sprintf("GPU %d of %s", *device, glyph.Visible(host))
}

// othersWord is "the 7 other GPUs".
func othersWord(n int, device *int) string {
	word := "host"
	if device != nil {
		word = "GPU"
	}
	if n == 1 {
		return "the only other " + word
	}
	return fmt.Sprintf("the %d other %ss", n, word)
}

// withUnit is a value with its unit.
func withUnit(x float64, unit string) string {
	switch unit {
	case "fraction":
		return about(x)
	case "1/s":
		if x > 0 && x < 0.1 {
			return fmt.Sprintf("%s a minute", plainNumber(60*x))
		}
		return plainNumber(x) + " a second"
	case "tasks/CPU":
		return plainNumber(x)
	}
	return plainNumber(x) + " " + unit
}

// plainNumber has three digits or all before the point.
func plainNumber(x float64) string {
	switch {
	case x >= 100 || x == float64(int64(x)):
		return table.Grouped(int64(x + 0.5))
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// What begins evidence of a time, and of nothing else, and the caveat of times without a
// zone.
const (
	atTheTime    = "at the same time, which proves nothing: "
	atSomeTime   = "at a time that is not known, which proves nothing: "
	withoutAZone = "; its times name no zone (--time-zone)"
)

func monitored(e evidence.Monitored) string {
	if len(e.Alike) > 0 {
		return fmt.Sprintf("at the same time %s was like %s in %s", unitWord(e.Host, e.Device), othersWord(e.N, e.Device), quantityList(e.Alike))
	}
	s := atTheTime
	if e.Timeless {
		s = atSomeTime
	}
	s += didWords(e, othersWord(e.N, e.Device))
	if e.N > 1 {
		s += fmt.Sprintf(" (median; %s to %s)", withUnit(e.Low, e.Unit), withUnit(e.High, e.Unit))
	}
	switch {
	case e.Tested:
		s += fmt.Sprintf(", %s after %s", pValue(e.P), counted(e.Tests, "comparison"))
	case e.N < 4:
		s += ", too few for a test"
	}
	if e.Zoneless && !e.Timeless {
		s += withoutAZone
	}
	return s
}

// didWords is "GPU 3 of h2 ran at 1 005 MHz, the 7 other GPUs 1 755 MHz".
func didWords(e evidence.Monitored, others string) string {
	did := "had a " + glyph.Visible(e.Quantity) + " of"
	if w, ok := quantityWords[quantityOf(e.Quantity)]; ok {
		did = w.did
	}
	return fmt.Sprintf("%s %s %s, %s %s", unitWord(e.Host, e.Device), did, withUnit(e.Own, e.Unit), others, withUnit(e.Peers, e.Unit))
}

// eventWords name what kernels report.
var eventWords = map[string]string{
	"xid": "Xid", "machine_check": "a machine check", "out_of_memory": "a process killed for want of memory", "cpu_overheated": "a CPU throttled for heat", "link_down": "a network link down",
}

// eventName is "Xid 79", or "a machine check".
func eventName(e evidence.Reported) string {
	name, ok := eventWords[e.Event]
	if !ok {
		name = glyph.Visible(e.Event)
	}
	if e.Code > 0 {
		name += fmt.Sprintf(" %d", e.Code)
	}
	return name
}

func reported(e evidence.Reported) string {
	if e.Event == health.ToolReport.String() {
		return strings.TrimRight(glyph.Visible(e.Text), ".")
	}
	s := atSomeTime
	if e.At > 0 {
		s = atTheTime
	}
	s += fmt.Sprintf("the kernel of %s reported %s", glyph.Visible(e.Host), eventName(e))
	if e.Device != nil {
		s += fmt.Sprintf(" of GPU %d", *e.Device)
	}
	if e.At > 0 {
		s += " at " + clockWord(e.At)
	}
	if e.N > 1 {
		s += fmt.Sprintf(", %d times", e.N)
	}
	if e.Text != "" {
		s += " (" + strings.TrimRight(glyph.Visible(e.Text), ".") + ")"
	}
	if e.Zoneless && e.At > 0 {
		s += withoutAZone
	}
	return s
}

// clockWord is a time of day.
func clockWord(at int64) string { return time.Unix(0, at).UTC().Format("15:04:05 UTC") }

// checkMonitored words what to look at because of what monitoring shows.
func checkMonitored(a answer.Action) string {
	switch {
	case a.Monitored != nil:
		when := "at the same time"
		if a.Monitored.Timeless {
			when = "at some time"
		}
		return fmt.Sprintf("%s, %s: %s", didWords(*a.Monitored, "the others"), when, quantityWords[quantityOf(a.Monitored.Quantity)].check)
	case a.Reported != nil:
		e := a.Reported
		if e.At == 0 {
			return fmt.Sprintf("look into %s of %s, in its kernel log", eventName(*e), unitWord(e.Host, e.Device))
		}
		return fmt.Sprintf("look into %s of %s, reported at the same time (%s)", eventName(*e), unitWord(e.Host, e.Device), clockWord(e.At))
	}
	return string(a.Action)
}

// monitoringProblem words what monitoring lacks, "" for all else.
func monitoringProblem(p answer.Problem) string {
	switch p.Problem {
	case answer.MonitoringHost:
		return fmt.Sprintf("%s of monitoring %s of no host of the run, the first %s: name each, or its folder, by the host that it is of", counted(p.N, "file"), isAre(p.N), glyph.Visible(p.Path))
	case answer.MonitoringTime, answer.MonitoringZone:
		if p.Times == nil {
			break
		}
		span := func(from, to int64) string {
			const form = "2006-01-02 15:04:05"
			return time.Unix(0, from).UTC().Format(form) + " to " + time.Unix(0, to).UTC().Format(form)
		}
		s := fmt.Sprintf("no reading of monitoring is of the time of the run: %s, the run %s (UTC)", span(p.Times[0], p.Times[1]), span(p.Times[2], p.Times[3]))
		if p.Problem == answer.MonitoringZone {
			s += "; some name no time zone: --time-zone"
		}
		return s
	}
	return ""
}
