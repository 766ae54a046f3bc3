package auto

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest/packet"
)

// Runs of one name in different folders are different runs, told apart by their
// folder: a/job and b/job. Packets of one run may lie in several folders, one
// for each host; they are of different runs where two folders have a file that
// begins with the same rank and window.

// packetFile is an input that is packets, and how it begins.
type packetFile struct {
	packet.Stream
	begins opening
	size   int64
}

// opening is what the first packet of a file is of.
type opening struct {
	run          string
	window, rank int64
}

// openingOf reads the names at the head of the first packet of a file; those
// that it does not find are empty.
func openingOf(src interface{ Peek(int) ([]byte, error) }) opening {
	head, _ := src.Peek(sniffed)
	d := json.NewDecoder(bytes.NewReader(head))
	o := opening{window: -1, rank: -1}
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return o
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			break
		}
		var to any = new(json.RawMessage)
		switch key {
		case "run":
			to = &o.run
		case "window":
			to = &o.window
		case "rank":
			to = &o.rank
		}
		if d.Decode(to) != nil || o.run != "" && o.window >= 0 && o.rank >= 0 {
			break
		}
	}
	return o
}

// packetGroup is packet files that are read as one input. label distinguishes their runs from others of the same name,
// "" where names are unique.
type packetGroup struct {
	label string
	files []packetFile
}

// groupPackets parts files whose runs have one name and are different.
func groupPackets(files []packetFile) []packetGroup {
	depth := distinguishingDepths(files)
	var groups []packetGroup
	var ways [][]string // to the folders of groups whose runs need a label
	for _, f := range files {
		label := ""
		if d, ok := depth[f.begins.run]; ok {
			parts := folderParts(f.Name)
			parts = parts[:min(d, len(parts))]
			ways = append(ways, parts)
			label = strings.Join(parts, "/")
		}
		i := slices.IndexFunc(groups, func(g packetGroup) bool { return g.label == label })
		if i < 0 {
			i = len(groups)
			groups = append(groups, packetGroup{label: label})
		}
		groups[i].files = append(groups[i].files, f)
	}
	if len(ways) == 0 {
		return groups
	}
	shared := len(ways[0])
	for _, way := range ways {
		shared = min(shared, common(ways[0], way))
	}
	for i, g := range groups {
		if g.label != "" {
			parts := strings.Split(g.label, "/")
			groups[i].label = strings.Join(parts[min(shared, len(parts)-1):], "/")
		}
	}
	return groups
}

// distinguishingDepths finds the runs whose name is of several, and returns how many names on the way
// to their folders tell these apart.
func distinguishingDepths(files []packetFile) map[string]int {
	depth := make(map[string]int)
	first := make(map[opening][]string)
	for _, f := range files {
		folder := folderParts(f.Name)
		other, taken := first[f.begins]
		switch {
		case f.begins.run == "" || f.begins.rank < 0:
		case !taken:
			first[f.begins] = folder
		case !slices.Equal(folder, other):
			depth[f.begins.run] = max(depth[f.begins.run], common(folder, other)+1)
		}
	}
	return depth
}

// folderParts returns the names on the way to the folder of a file.
func folderParts(path string) []string {
	folder := filepath.Dir(path)
	if abs, err := filepath.Abs(folder); err == nil {
		folder = abs
	}
	return strings.Split(filepath.ToSlash(folder), "/")
}

// common returns how many leading names two paths share.
func common(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
