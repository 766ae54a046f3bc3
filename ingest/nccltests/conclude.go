package nccltests

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Recognise reports whether text, the beginning of a file, is an output of nccl-tests.
func Recognise(text []byte) bool {
	return bytes.Contains(text, []byte("algbw")) && bytes.Contains(text, []byte("busbw")) && bytes.Contains(text, []byte("#  Rank"))
}

const (
	// plateau is from which part of the fastest size on a size is as fast.
	plateau = 0.9
	// slowPair is below which part of what other nodes reach a node is slow.
	slowPair = 0.75
	// fewestPairs is how many pairs tell a slow node from a slow pair.
	fewestPairs = 4
	mostPairs   = 1 << 16
)

// Conclude reports what measurements show by themselves: of each operation, the bandwidth that it reaches and from which size on.
func Conclude(rows []nccl.Benchmark) (out []health.Event) {
	type kind struct {
		op           nccl.Op
		ranks, hosts int
	}
	best, order := map[kind]nccl.Benchmark{}, []kind{}
	for _, r := range rows {
		k := kind{r.Op, r.Ranks, r.Hosts}
		if b, seen := best[k]; !seen {
			order, best[k] = append(order, k), r
		} else if r.Bus > b.Bus {
			best[k] = r
		}
	}
	for _, k := range order {
		from := best[k].Bytes
		for _, r := range rows {
			if (kind{r.Op, r.Ranks, r.Hosts}) == k && r.Bus >= plateau*best[k].Bus {
				from = min(from, r.Bytes)
			}
		}
		out = append(out, health.Event{Kind: health.ToolReport, Device: -1, Text: fmt.Sprintf("nccl-tests: %s of %d ranks on %s reaches a bus bandwidth of %.1f GB/s, %.0f %% of that from %d bytes on",
			k.op, k.ranks, hostsOf(k.hosts), best[k].Bus, 100*plateau, from)})
	}
	if len(out) > 0 {
		out = append(out, health.Event{Kind: health.ToolReport, Device: -1, Text: "with --limit FILE sfstat comm compares the calls of a job with what nccl-tests reaches"})
	}
	return out
}

// hostsOf returns a number of hosts in words.
func hostsOf(n int) string {
	if n == 1 {
		return "1 host"
	}
	return fmt.Sprintf("%d hosts", n)
}

// pair is a line of what was measured between two nodes: "n1,n4  49.4".
var pair = regexp.MustCompile(`^\s*([A-Za-z][\w.-]*)\s*[, ]\s*([A-Za-z][\w.-]*)\s*[,: ]\s*(\d+(?:\.\d+)?)\s*(?:GB/s)?\s*$`)

// measuredPair is the bandwidth between two nodes, GB/s.
type measuredPair struct {
	a, b string
	bus  float64
}

// pairsIn returns the pairs of a text; none where other lines stand in it.
func pairsIn(text []byte) (out []measuredPair) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		m := pair.FindSubmatch(line)
		if m == nil || len(out) == mostPairs {
			return nil
		}
		bus, _ := strconv.ParseFloat(string(m[3]), 64)
		out = append(out, measuredPair{string(m[1]), string(m[2]), bus})
	}
	return out
}

// RecognisePairs reports whether text is bandwidths of pairs of nodes.
func RecognisePairs(text []byte) bool { return len(pairsIn(text)) >= fewestPairs }

// ConcludePairs reports which node is slow: whose fastest pair is slower than those of all others, by a quarter of what these
// reach in the middle. Where pairs are slow whose nodes are fast with others, it is their link, and no node is named.
func ConcludePairs(text []byte) []health.Event {
	pairs := pairsIn(text)
	fastest := map[string]float64{}
	for _, p := range pairs {
		fastest[p.a], fastest[p.b] = max(fastest[p.a], p.bus), max(fastest[p.b], p.bus)
	}
	type node struct {
		name string
		bus  float64
	}
	var nodes []node
	for name, bus := range fastest {
		nodes = append(nodes, node{name, bus})
	}
	slices.SortFunc(nodes, func(x, y node) int { return cmp.Or(cmp.Compare(x.bus, y.bus), cmp.Compare(x.name, y.name)) })
	usual := nodes[len(nodes)/2].bus
	conclude := func(text, host string) []health.Event {
		return []health.Event{{Kind: health.ToolReport, Device: -1, Host: host, Text: text}}
	}
	var slow []node
	for _, n := range nodes {
		if n.bus < slowPair*usual {
			slow = append(slow, n)
		}
	}
	tested := 0 // pairs of the slowest node
	for _, p := range pairs {
		if p.a == nodes[0].name || p.b == nodes[0].name {
			tested++
		}
	}
	switch {
	case len(slow) == 1 && tested > 1:
		return conclude(fmt.Sprintf("bandwidths of %d pairs of nodes: %s reaches %.1f GB/s at most, with %d others, and the nodes in the middle %.1f GB/s: look at its network", len(pairs), slow[0].name, slow[0].bus, tested, usual), slow[0].name)
	case len(slow) > 0:
		return conclude(fmt.Sprintf("bandwidths of %d pairs of nodes: %d of %d nodes are slow in all their pairs, which does not tell whose fault it is: measure each of them with a fast one (%s)", len(pairs), len(slow), len(nodes), nodes[len(nodes)-1].name), "")
	}
	slowest := slices.MinFunc(pairs, func(x, y measuredPair) int { return cmp.Compare(x.bus, y.bus) })
	return conclude(fmt.Sprintf("bandwidths of %d pairs of nodes: each node reaches %.1f GB/s or more with some other; the slowest pair is %s and %s, %.1f GB/s", len(pairs), nodes[0].bus, slowest.a, slowest.b, slowest.bus), "")
}
