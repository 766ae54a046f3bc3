package comm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/fixtures/comm/commtest"
	"github.com/sfstat/sfstat/trace/comms"
)

// By hand from fixtures/comm/make: two hosts of two GPUs on NVLink and one network card; GPUs of both hosts have the same names, ranks of the
// job tell them apart.
func TestTopology(t *testing.T) {
	r := commtest.Analyze(t, Analyze, commtest.Job(t, commtest.Logs, nil))
	got := map[string][]string{}
	for _, m := range Machines(r) {
		name := func(d int) string {
			if m.Devices[d].Rank < 0 {
				return m.Devices[d].Name
			}
			return fmt.Sprint(m.Devices[d].Name, " of ", m.Devices[d].Rank)
		}
		for _, l := range m.Links {
			got[m.Host] = append(got[m.Host], fmt.Sprintf("%s %v %g %s", name(l.From), l.Class, l.Bandwidth, name(l.To)))
		}
		for _, p := range m.Paths {
			to := fmt.Sprint(p.To)
			if p.To == comms.ToNetwork {
				to = "network"
			}
			got[m.Host] = append(got[m.Host], fmt.Sprintf("%d %v %g %s", p.From, p.Class, p.Bandwidth, to))
		}
	}
	want := map[string][]string{}
	for host, text := range map[string]string{
		"node0": "CPU/0-0 PCI 24 GPU/0-1000 of 0;CPU/0-0 PCI 24 GPU/0-25000 of 1;CPU/0-0 PCI 24 NIC/0-41000;NIC/0-41000 NET 25 NET/0-0;0 NVL 80 1;0 PHB 24 network;1 PHB 24 network",
		"node1": "CPU/0-0 PCI 24 GPU/0-1000 of 2;CPU/0-0 PCI 24 GPU/0-25000 of 3;CPU/0-0 PCI 24 NIC/0-41000;NIC/0-41000 NET 25 NET/0-0;2 NVL 80 3;2 PHB 24 network;3 PHB 24 network",
	} {
		want[host] = strings.Split(text, ";")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want −, got +:\n%s", diff)
	}
	if alone := Machines(commtest.Analyze(t, Analyze, commtest.Job(t, nil, commtest.Exports))); len(alone) > 0 {
		t.Errorf("of exports alone: %+v", alone)
	}
}
