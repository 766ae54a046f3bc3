package detectors

import (
	"fmt"
	"io"
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

// used is what a GPU does at a moment.
type used struct{ gpu, celsius, watts, mebibytes, percent int }

// screen reads the screen of nvidia-smi, of several the last.
func screen(src io.Reader, name string, lim ingest.Limits) ([]health.Event, error) {
	lines := ingest.NewLines(src, name, lim, nil)
	var all []used
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
			all = append(all, used{gpu, n[1], n[2], n[4], n[5]})
			gpu = -1
		}
	}
	if len(all)+len(lost) == 0 {
		return nil, input.At(lines.Pos(), input.Bad(input.ErrEmpty, "a screen of nvidia-smi without a GPU up to here"))
	}
	return []health.Event{conclusion("at the moment of nvidia-smi's screen "+atMoment(all, lost), "")}, nil
}

const (
	idle, working = 10, 90 // percent of the time
	// usesMemory is how much a GPU holds at least that is of a job, MiB.
	usesMemory = 1024
)

// atMoment says in what GPUs of a host differ.
func atMoment(all []used, lost []string) string {
	var text []string
	if len(lost) > 0 {
		text = append(text, fmt.Sprintf("GPU %s does not answer", strings.Join(lost, ", ")))
	}
	var idles, works []used
	for _, u := range all {
		switch {
		case u.mebibytes < usesMemory:
		case u.percent <= idle:
			idles = append(idles, u)
		case u.percent >= working:
			works = append(works, u)
		}
	}
	hottest := slices.MaxFunc(append(all, used{}), func(x, y used) int { return x.celsius - y.celsius })
	switch {
	case len(idles) > 0 && len(works) > len(idles):
		text = append(text, fmt.Sprintf("GPU %s computes %d %% of the time at %d W, %d others %d %% or more: they may wait in a collective for its process", gpus(idles), idles[0].percent, idles[0].watts, len(works), working))
	case len(lost) == 0:
		text = append(text, fmt.Sprintf("%d GPUs do much the same (%d to %d %% of the time; GPU %d is the hottest, at %d °C)", len(all), least(all), largest(all), hottest.gpu, hottest.celsius))
	}
	return strings.Join(text, "; ")
}

// gpus lists the numbers of GPUs.
func gpus(list []used) string {
	var names []string
	for _, u := range list {
		names = append(names, strconv.Itoa(u.gpu))
	}
	return strings.Join(names, ", ")
}

func least(all []used) int {
	return slices.MinFunc(all, func(x, y used) int { return x.percent - y.percent }).percent
}

func largest(all []used) int {
	return slices.MaxFunc(all, func(x, y used) int { return x.percent - y.percent }).percent
}
