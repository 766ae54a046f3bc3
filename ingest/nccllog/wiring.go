package nccllog

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest/nccllog/internal/logline"
	"github.com/sfstat/sfstat/trace"
)

// NCCL says by itself, without COLL, over what each channel goes, and which version it is:
//
//	n1:100:100 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/Socket/0
//	n1:100:100 [0] NCCL INFO NCCL version 2.19.3+cuda12.2

// wiring is what lines of NCCL say of channels and versions.
type wiring struct {
	channels map[string]map[int]int // by transport, channels of each rank that sends
	versions map[string][]string    // hosts of each
}

const (
	via       = " via "
	versionOf = "NCCL version "
)

// wire takes a line that is read no further.
func (b *Builder) wire(r *logline.Record) {
	if i := bytes.Index(r.Text, []byte(via)); i >= 0 {
		b.wired.channel(string(r.Text[:i]), string(r.Text[i+len(via):]))
		return
	}
	if after, ok := bytes.CutPrefix(r.Text, []byte(versionOf)); ok && r.Head.Host != "" {
		version, _, _ := strings.Cut(strings.TrimSpace(string(after)), " ")
		if b.wired.versions == nil {
			b.wired.versions = map[string][]string{}
		}
		if !slices.Contains(b.wired.versions[version], r.Head.Host) && len(b.wired.versions) < maxWires {
			b.wired.versions[version] = append(b.wired.versions[version], r.Head.Host)
		}
	}
}

// maxWires bounds the transports, and versions, that are kept.
const maxWires = 64

// channel takes "Channel 00/0 : 7[7] -> 8[0] [send]" and what stands behind "via".
func (w *wiring) channel(ways, over string) {
	from, _, ok := strings.Cut(ways, " -> ")
	if !ok {
		return
	}
	from = from[strings.LastIndexByte(from, ' ')+1:]
	rank := 0
	if n, err := fmt.Sscanf(from, "%d[", &rank); n != 1 || err == nil && rank < 0 || rank < 0 || rank >= trace.MaxRanks {
		return
	}
	over, _, _ = strings.Cut(strings.TrimSpace(over), " ")
	if over = transportOf(over); over == "" {
		return
	}
	if w.channels == nil {
		w.channels = map[string]map[int]int{}
	}
	if w.channels[over] == nil {
		if len(w.channels) == maxWires {
			return
		}
		w.channels[over] = map[int]int{}
	}
	w.channels[over][rank]++
}

// transportOf returns a transport without the numbers of devices in it: NET/IB/0/GDRDMA is NET/IB/GDRDMA.
func transportOf(over string) string {
	parts := slices.DeleteFunc(strings.Split(over, "/"), func(part string) bool { return strings.Trim(part, "0123456789()") == "" })
	switch {
	case len(parts) == 0:
		return ""
	case parts[0] == "NET" && len(parts) > 1:
		if slices.Contains(parts, "GDRDMA") {
			return "NET/" + parts[1] + "/GDRDMA"
		}
		return "NET/" + parts[1]
	}
	return parts[0]
}

// Concludes returns what the log shows of how ranks reach each other: what is slow by itself, or differs between them, first.
func (b *Builder) Concludes() (all []string) {
	w := &b.wired
	var nets, local []string
	for _, over := range slices.Sorted(maps.Keys(w.channels)) {
		if strings.HasPrefix(over, "NET/") {
			nets = append(nets, over)
		} else {
			local = append(local, over)
		}
	}
	switch socket := w.channels["NET/Socket"]; {
	case len(nets) == 0:
	case len(nets) == 1 && socket != nil:
		all = append(all, fmt.Sprintf("between nodes all channels go over NET/Socket, which is TCP, and not over InfiniBand or RoCE (NET/IB): %s", countOf(socket)))
	case len(nets) == 1:
		all = append(all, fmt.Sprintf("between nodes all channels go over %s: %s", nets[0], countOf(w.channels[nets[0]])))
	default:
		all = append(all, "ranks do not reach other nodes alike: "+w.ranksByTransport(nets))
	}
	if len(local) > 1 {
		all = append(all, "ranks do not reach their neighbours alike: "+w.ranksByTransport(local))
	}
	if len(w.versions) > 1 {
		var each []string
		for _, v := range slices.Sorted(maps.Keys(w.versions)) {
			each = append(each, fmt.Sprintf("%s on %s", v, strings.Join(w.versions[v][:min(4, len(w.versions[v]))], ", ")))
		}
		all = slices.Insert(all, 0, "versions of NCCL differ: "+strings.Join(each, "; "))
	}
	return all
}

// ranksByTransport names which ranks send over which transport.
func (w *wiring) ranksByTransport(over []string) string {
	slices.SortStableFunc(over, func(x, y string) int { return cmp.Compare(len(w.channels[x]), len(w.channels[y])) })
	var list []string
	for _, o := range over {
		list = append(list, fmt.Sprintf("%s over %s", trace.Ranks(slices.Sorted(maps.Keys(w.channels[o]))), o))
	}
	return strings.Join(list, "; ")
}

// countOf counts the channels, and the ranks that have them, in words.
func countOf(ranks map[int]int) string {
	sum := 0
	for _, n := range ranks {
		sum += n
	}
	return fmt.Sprintf("%d of %s", sum, trace.Ranks(slices.Sorted(maps.Keys(ranks))))
}
