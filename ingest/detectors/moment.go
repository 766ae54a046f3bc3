package detectors

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
)

// The screen of nvidia-smi is a moment of a host, without a time that can be compared with steps:
//
//	|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |
//	| N/A   31C    P0              77W / 400W |  65000MiB / 81920MiB |      0%      Default |
//
// Where GPUs of one job differ in what they do it says so, which is no proof: one that idles while the others spin in a collective may be waited for.

var (
	gpuRow  = regexp.MustCompile(`^\|\s+(\d{1,3})\s+\S.*\|\s*[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d`)
	useRow  = regexp.MustCompile(`(\d{1,3})C\s+P\d+\s+(?:(\d{1,5})W\s*/\s*(\d{1,5})W|N/A\s*/\s*\S+)\s*\|\s*(\d{1,8})MiB\s*/\s*\d{1,8}MiB\s*\|\s*(\d{1,3})%`)
	lostRow = regexp.MustCompile(`^\|\s+(\d{1,3})\s.*(?:ERR!|GPU is lost|Unknown Error)`)
)

// gpuUse is what a GPU does at a moment, or in the middle of what was recorded of it.
type gpuUse struct{ gpu, celsius, watts, mebibytes, percent, megahertz int }

// notTold is a number that a screen or a table does not have.
const notTold = -1

// screen reads the screen of nvidia-smi, of several the last.
func screen(src io.Reader, name string, lim ingest.Limits) ([]health.Event, error) {
	lines := ingest.NewTerminalLines(src, name, lim)
	var all []gpuUse
	var lost []string
	gpu := -1
	for {
		raw, _, err := lines.NextCut()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		line := string(raw)
		if strings.Contains(line, "NVIDIA-SMI") {
			all, lost = nil, nil
		}
		if m := lostRow.FindStringSubmatch(line); m != nil && !slices.Contains(lost, m[1]) {
			lost = append(lost, m[1])
		}
		if m := gpuRow.FindStringSubmatch(line); m != nil {
			gpu, _ = strconv.Atoi(m[1])
		} else if m := useRow.FindStringSubmatch(line); m != nil && gpu >= 0 && len(all) < 1024 {
			n := make([]int, len(m))
			for i := range m {
				n[i], _ = strconv.Atoi(m[i])
			}
			all = append(all, gpuUse{gpu: gpu, celsius: n[1], watts: n[2], mebibytes: n[4], percent: n[5]})
			gpu = -1
		}
	}
	if len(all)+len(lost) == 0 {
		return nil, input.At(lines.Pos(), input.Bad(input.ErrEmpty, "a screen of nvidia-smi without a GPU up to here"))
	}
	return []health.Event{conclusion("at the moment of nvidia-smi's screen "+differences(all, lost), "")}, nil
}

const (
	idle, working = 10, 90 // percent of the time
	// usesMemory is how much a GPU holds at least that is of a job, MiB.
	usesMemory = 1024
	// slowClock is which part of the others' clock is a lower one.
	slowClock = 0.9
)

// ConcludeReadings reports in what the GPUs of each host differ over the readings of a monitor; nothing where it has none of how busy they are.
func ConcludeReadings(t *health.Record) (texts []string) {
	hosts := map[string]map[int]*gpuUse{}
	for i := range t.Series {
		s := &t.Series[i]
		if s.Device < 0 || len(s.Readings) == 0 {
			continue
		}
		if hosts[s.Host] == nil {
			hosts[s.Host] = map[int]*gpuUse{}
		}
		u := hosts[s.Host][s.Device]
		if u == nil {
			u = &gpuUse{gpu: s.Device, celsius: notTold, watts: notTold, mebibytes: notTold, percent: notTold}
			hosts[s.Host][s.Device] = u
		}
		values := make([]float64, len(s.Readings))
		for i, r := range s.Readings {
			values[i] = r.Value
		}
		middle := median(values)
		switch s.Quantity {
		case health.Utilization:
			u.percent = int(100*middle + 0.5)
		case health.Power:
			u.watts = int(middle + 0.5)
		case health.Temperature:
			u.celsius = int(middle + 0.5)
		case health.SMClock:
			u.megahertz = int(middle + 0.5)
		}
	}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		var all []gpuUse
		for _, gpu := range slices.Sorted(maps.Keys(hosts[host])) {
			if u := hosts[host][gpu]; u.percent != notTold {
				all = append(all, *u)
			}
		}
		if len(all) == 0 {
			continue
		}
		text := "in the middle of the readings " + differences(all, nil)
		if host != "" {
			text = host + ": " + text
		}
		texts = append(texts, text)
	}
	return texts
}

// differences reports in what GPUs of a host differ.
func differences(all []gpuUse, lost []string) string {
	var text []string
	if len(lost) > 0 {
		text = append(text, fmt.Sprintf("GPU %s does not answer", strings.Join(lost, ", ")))
	}
	var idles, works []gpuUse
	for _, u := range all {
		switch {
		case u.mebibytes != notTold && u.mebibytes < usesMemory:
		case u.percent <= idle:
			idles = append(idles, u)
		case u.percent >= working:
			works = append(works, u)
		}
	}
	if slow, usual := slower(works); len(slow) > 0 {
		text = append(text, fmt.Sprintf("GPU %s runs at %d MHz, the others that compute at %d MHz", gpus(slow), slow[0].megahertz, usual))
	}
	hottest := slices.MaxFunc(append(all, gpuUse{gpu: notTold}), func(x, y gpuUse) int { return x.celsius - y.celsius })
	switch {
	case len(idles) > 0 && len(works) > len(idles):
		at, or := "", ""
		if idles[0].watts != notTold {
			at = fmt.Sprintf(" at %d W", idles[0].watts)
		}
		if idles[0].mebibytes == notTold {
			or = ", unless no process of the job runs on it"
		}
		text = append(text, fmt.Sprintf("GPU %s computes %d %% of the time%s, %d others %d %% or more: they may wait in a collective for its process%s", gpus(idles), idles[0].percent, at, len(works), working, or))
	case len(text) > 0:
	case hottest.celsius > 0:
		text = append(text, fmt.Sprintf("%d GPUs do much the same (%d to %d %% of the time; GPU %d is the hottest, at %d °C)", len(all), smallest(all), largest(all), hottest.gpu, hottest.celsius))
	default:
		text = append(text, fmt.Sprintf("%d GPUs do much the same (%d to %d %% of the time)", len(all), smallest(all), largest(all)))
	}
	return strings.Join(text, "; ")
}

// slower returns GPUs whose clock is lower than that of most which work as much, and that of those, MHz.
func slower(works []gpuUse) (slow []gpuUse, usual int) {
	works = slices.DeleteFunc(slices.Clone(works), func(u gpuUse) bool { return u.megahertz == 0 })
	if len(works) < 2 {
		return nil, 0
	}
	slices.SortStableFunc(works, func(x, y gpuUse) int { return x.megahertz - y.megahertz })
	usual = works[len(works)/2].megahertz
	for _, u := range works {
		if float64(u.megahertz) < slowClock*float64(usual) {
			slow = append(slow, u)
		}
	}
	return slow, usual
}

// gpus lists the numbers of GPUs.
func gpus(list []gpuUse) string {
	var names []string
	for _, u := range list {
		names = append(names, strconv.Itoa(u.gpu))
	}
	return strings.Join(names, ", ")
}

func smallest(all []gpuUse) int {
	return slices.MinFunc(all, func(x, y gpuUse) int { return x.percent - y.percent }).percent
}

func largest(all []gpuUse) int {
	return slices.MaxFunc(all, func(x, y gpuUse) int { return x.percent - y.percent }).percent
}
