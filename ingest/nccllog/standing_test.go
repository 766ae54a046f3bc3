package nccllog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/trace/comms"
)

// hostLog returns what NCCL logs of ranks of a communicator of 16 on a host of 8, and n calls of each.
func hostLog(host string, ranks []int, commID, over string, calls func(rank int) int) (text string) {
	for _, r := range ranks {
		head, next := fmt.Sprintf("%s:%d:%d [%d] NCCL INFO ", host, 100+r, 100+r, r%8), (r+1)%16
		way := "P2P/CUMEM/read"
		if next%8 == 0 {
			way = over
		}
		text += head + fmt.Sprintf("comm 0x5500%02x rank %d nranks 16 cudaDev %d busId %d000%s - Init COMPLETE\n", r, r, r%8, r%8+1, commID)
		text += head + fmt.Sprintf("Channel 00/0 : %d[%d] -> %d[%d] [send] via %s\n", r, r%8, next, next%8, way)
		for i := range calls(r) {
			text += head + fmt.Sprintf("AllReduce: opCount %x sendbuff 0x10 recvbuff 0x20 count 1024 datatype 7 op 0 root 0 comm 0x5500%02x [nranks=16] stream 0x55\n", i, r)
		}
	}
	return text
}

func upTo(from, to int) (ranks []int) {
	for r := from; r < to; r++ {
		ranks = append(ranks, r)
	}
	return ranks
}

// Of the log of one of two hosts the ranks of the other are absent, and one that has made fewer calls is behind.
func TestStanding(t *testing.T) {
	same := func(int) int { return 3 }
	behind := func(r int) int {
		if r == 5 {
			return 2
		}
		return 3
	}
	for name, c := range map[string]struct {
		text   string
		absent []int
		behind []int
	}{
		"one host":                  {hostLog("a", upTo(0, 8), " commId 0xabc", "NET/IB/0", same), upTo(8, 16), nil},
		"without commId":            {hostLog("a", upTo(0, 8), "", "NET/IB/0", same), upTo(8, 16), nil},
		"both":                      {hostLog("a", upTo(0, 8), " commId 0xabc", "NET/IB/0", same) + hostLog("b", upTo(8, 16), " commId 0xabc", "NET/IB/0", same), nil, nil},
		"one is behind":             {hostLog("a", upTo(0, 8), " commId 0xabc", "NET/IB/0", behind), upTo(8, 16), []int{5}},
		"nothing of a communicator": {"a:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0\n", nil, nil},
	} {
		b := build(t, c.text)
		out := LoggedCounts(&b.comm)
		if strings.HasPrefix(name, "nothing") {
			if out != nil {
				t.Errorf("%s: %+v", name, out)
			}
			continue
		}
		var j arrivals.Job
		if err := j.Add(out); err != nil {
			t.Fatal(err)
		}
		a := j.Analyze(arrivals.Options{HangOnly: true}).Asked
		var found []int
		for _, b := range a.Behind {
			found = append(found, b.Ranks...)
		}
		if !slices.Equal(a.Absent, c.absent) || !slices.Equal(found, c.behind) || a.Size != 16 {
			t.Errorf("%s: %v absent of %d, %v behind; want %v, %v", name, a.Absent, a.Size, found, c.absent, c.behind)
		}
	}
}

// A process that drives several GPUs is a rank for each; RCCL says which rank a call is of.
func TestProcesses(t *testing.T) {
	text := ""
	for r := range 2 {
		text += fmt.Sprintf("h:1:2%d [%d] NCCL INFO ncclCommInitAll comm 0xab%d rank %d nranks 2 cudaDev %d busId %d000 commId 0x12 - Init COMPLETE\n", r, r, r, r, r, r+1)
	}
	for i := range 6 {
		text += fmt.Sprintf("h:1:20 [0] NCCL INFO AllReduce: opCount %x sendbuff 0x10 recvbuff 0x20 count 64 datatype 7 op 0 root 0 comm 0xab%d [nranks=2] stream 0x55\n", i/2, i%2)
	}
	c := &build(t, text).comm
	count := map[int]int{}
	for _, call := range c.Calls {
		if c.Groups[call.Group].Process != call.Process {
			t.Errorf("a call of process %d on a communicator of %d", call.Process, c.Groups[call.Group].Process)
		}
		count[call.Process]++
	}
	if len(c.Processes) != 2 || count[0] != 3 || count[1] != 3 || c.Processes[0].Device != 0 || c.Processes[1].Device != 1 {
		t.Errorf("%d processes, calls %v", len(c.Processes), count)
	}
	text = ""
	for i, global := range []int{0, 2, 5} {
		text += fmt.Sprintf("h:%d:1 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x10 recvbuff 0x20 count 64 datatype 7 op 0 root 0 comm 0xab%d [nranks=8] stream 0x55 task 0 globalrank %d\n", 10+i, i, global)
	}
	c = &build(t, text).comm
	if got := ranksOf(c); !slices.Equal(got, []int{0, 2, 5}) || c.Entries() {
		t.Errorf("ranks %v, entries %v", got, c.Entries())
	}
}

func ranksOf(c *comms.Record) (ranks []int) {
	for _, p := range c.Processes {
		ranks = append(ranks, p.Rank)
	}
	return ranks
}

// What NCCL says of channels and versions without a call.
func TestWiring(t *testing.T) {
	none := func(int) int { return 0 }
	version := func(host, v string) string { return fmt.Sprintf("%s:1:1 [0] NCCL INFO NCCL version %s\n", host, v) }
	for name, c := range map[string]struct{ text, want string }{
		"TCP":         {hostLog("a", upTo(0, 16), "", "NET/Socket/0", none), "between nodes all channels go over NET/Socket, which is TCP, and not over InfiniBand or RoCE (NET/IB): 2 of ranks 7,15"},
		"InfiniBand":  {hostLog("a", upTo(0, 16), "", "NET/IB/3/GDRDMA", none), "between nodes all channels go over NET/IB/GDRDMA: 2 of ranks 7,15"},
		"one by TCP":  {hostLog("a", upTo(0, 8), "", "NET/IB/0", none) + hostLog("b", upTo(8, 16), "", "NET/Socket/1", none), "ranks do not reach other nodes alike: rank 7 over NET/IB; rank 15 over NET/Socket"},
		"one by SHM":  {strings.Replace(hostLog("a", upTo(0, 7), "", "", none), "P2P/CUMEM/read", "SHM/direct/direct", 1), "ranks do not reach their neighbours alike: rank 0 over SHM; ranks 1-6 over P2P"},
		"versions":    {version("a", "2.19.3+cuda12.2") + version("b", "2.18.5+cuda12.1") + version("c", "2.19.3+cuda12.2"), "versions of NCCL differ: 2.18.5+cuda12.1 on b; 2.19.3+cuda12.2 on a, c"},
		"one version": {version("a", "2.19.3+cuda12.2"), ""},
	} {
		if got := strings.Join(build(t, c.text).Concludes(), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
