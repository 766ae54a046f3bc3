package volume

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Parameters by hand for two layers of width 4 and 10 words on sequences of 3: 2·(12·16 + 13·4) + 13·4 = 540.
func TestParameters(t *testing.T) {
	m := Model{Layers: 2, Hidden: 4, Sequence: 3, Vocabulary: 10, DP: 1, TP: 1, PP: 1, EP: 1}
	if dense, experts := m.parameters(0); dense != 540 || experts != 0 {
		t.Errorf("%v and %v parameters, want 540 and 0", dense, experts)
	}
	m.PP = 2 // (12·16 + 13·4) + 13·4 first, and 244 + 40 last
	first, _ := m.parameters(0)
	last, _ := m.parameters(1)
	if first != 296 || last != 284 {
		t.Errorf("stages have %v and %v, want 296 and 284", first, last)
	}
	// One layer of two has 4 experts of 8·16 + 5·4 = 148 on 2 ranks, and a router of 16.
	m.PP, m.MoELayers, m.Experts, m.EP, m.DP = 1, 1, 4, 2, 2
	if dense, experts := m.parameters(0); dense != 540-148+16 || experts != 2*148 {
		t.Errorf("%v and %v parameters, want 408 and 296", dense, experts)
	}
}

func small() Model {
	m, err := Model{Layers: 4, Hidden: 8, Sequence: 16, Vocabulary: 32, Microbatch: 2, GlobalBatch: 16, ElementBytes: 2, Iterations: 3,
		DP: 2, TP: 2, PP: 2, EP: 2, MoELayers: 2}.Complete()
	if err != nil {
		panic(err)
	}
	return m
}

// A ring's AllReduce is a ReduceScatter and an AllGather: whether optimiser states or sequences are split does not
// change what leaves a rank, but for the two inputs that are gathered again.
func TestSplitIsTheSame(t *testing.T) {
	sent := func(m Model, d parallel.Kind) (sum float64) {
		for _, f := range m.Flows(0, SendsAndReceives) {
			if f.Dimension == d {
				sum += f.Sent
			}
		}
		return sum
	}
	whole := small()
	parts := whole
	parts.Sharding = ShardedOptimizer
	if a, b := sent(whole, parallel.DataParallel), sent(parts, parallel.DataParallel); math.Abs(a/b-1) > 1e-12 || a == 0 {
		t.Errorf("gradients: %v whole, %v in parts", a, b)
	}
	parts = whole
	parts.SequenceTP = true
	if a, b := sent(whole, parallel.TensorParallel), sent(parts, parallel.TensorParallel); math.Abs(1.25*a/b-1) > 1e-12 || a == 0 { // 10 halves for 8
		t.Errorf("activations: %v whole, %v in parts", a, b)
	}
	native := 0.0
	for _, f := range whole.Flows(0, AlltoAllCalls) {
		if f.Dimension == parallel.ExpertParallel {
			native += f.Sent
		}
	}
	if a := sent(whole, parallel.ExpertParallel); math.Abs(a/native-1) > 1e-12 || a == 0 {
		t.Errorf("all-to-alls: %v as sends, %v as calls", a, native)
	}
}

// What pipeline stages send is what others receive, and twice the iterations are twice everything.
func TestConserved(t *testing.T) {
	m := small()
	m.PP, m.Layers = 4, 8
	var sends, receives float64
	for stage := range m.PP {
		for _, f := range m.Flows(stage, SendsAndReceives) {
			if f.Dimension == parallel.PipelineParallel && f.Op == nccl.Send {
				sends += f.Logged
			} else if f.Dimension == parallel.PipelineParallel {
				receives += f.Logged
			}
		}
	}
	if sends != receives || sends == 0 {
		t.Errorf("%v bytes sent, %v received", sends, receives)
	}
	twice := m
	twice.Iterations *= 2
	for i, f := range m.Flows(1, SendsAndReceives) {
		if g := twice.Flows(1, SendsAndReceives)[i]; g.Logged != 2*f.Logged || g.Calls != 2*f.Calls || g.Sent != 2*f.Sent {
			t.Errorf("%+v, twice %+v", f, g)
		}
	}
}

// thesisModel is that of the NCCL Trace Profiler (Heidelberg 2026, §5.2 to 5.3.5) with the layout of m.
func thesisModel(layers int64, m Model) Model {
	m.Layers, m.Hidden, m.Sequence, m.Vocabulary = layers, 512, 1024, 50257
	m.Microbatch, m.GlobalBatch, m.ElementBytes, m.Iterations = 4, 64, 2, 10
	m, _ = m.Complete()
	return m
}

// The thesis ran PP=4 with two virtual stages too: sends grew from 3.75 to 8.75 GB (Figures 5.12 and 5.16).
func TestVirtualStages(t *testing.T) {
	sends := func(v int64) (sum float64) {
		m := thesisModel(16, Model{PP: 4, Virtual: v})
		var receives float64
		for stage := range m.PP {
			for _, f := range m.Flows(stage, SendsAndReceives) {
				if f.Op == nccl.Send {
					sum += f.Logged
				} else if f.Op == nccl.Recv {
					receives += f.Logged
				}
			}
		}
		if sum != receives {
			t.Errorf("%d virtual stages: %v bytes sent, %v received", v, sum, receives)
		}
		return sum
	}
	if got := sends(2) / sends(1); math.Abs(got-8.75/3.75) > 1e-9 {
		t.Errorf("two virtual stages send %v times as much, want %v", got, 8.75/3.75)
	}
}

// (pp − 1)/m of 4 stages and 16 microbatches; half of that with two virtual stages.
func TestBubble(t *testing.T) {
	for v, want := range map[int64]float64{1: 3.0 / 16, 2: 3.0 / 32} {
		if m := thesisModel(16, Model{PP: 4, Virtual: v}); m.Bubble() != want {
			t.Errorf("%d virtual stages: %v, want %v", v, m.Bubble(), want)
		}
	}
	if m := thesisModel(16, Model{DP: 4}); m.Bubble() != 0 {
		t.Errorf("no pipeline: %v", m.Bubble())
	}
}

// By hand: 2 layers of width 4 on 1 sequence of 8 tokens, 2 bytes, two context ranks, one microbatch: a = 4·4·2 = 32; keys and values are 64, gathered and
// reduce-scattered once a layer. Gradients are reduced over both ranks.
func TestContext(t *testing.T) {
	m, err := Model{Layers: 2, Hidden: 4, Sequence: 8, Vocabulary: 10, Microbatch: 1, GlobalBatch: 1, ElementBytes: 2, Iterations: 1, CP: 2}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range m.Flows(0, SendsAndReceives) {
		got[fmt.Sprint(f.Dimension, " ", f.Op, " ", f.Ranks, " ", f.Calls)] = f.Logged
	}
	if got["CP AllGather 2 2"] != 128 || got["CP ReduceScatter 2 2"] != 128 || len(got) != 3 || m.Ranks() != 2 {
		t.Errorf("%v", got)
	}
	if dense, _ := m.parameters(0); got["DP AllReduce 2 1"] != 2*dense {
		t.Errorf("gradients: %v", got)
	}
}

// A capacity factor pads exchanges. With the AllGather dispatcher all tokens of n ranks reach each rank, n times what top-1 routing sends.
func TestDispatch(t *testing.T) {
	sent := func(m Model) (sum float64) {
		for _, f := range m.Flows(0, AlltoAllCalls) {
			if f.Dimension == parallel.ExpertParallel {
				sum += f.Sent
			}
		}
		return sum
	}
	base := thesisModel(16, Model{DP: 4, EP: 4, MoELayers: 4})
	padded := thesisModel(16, Model{DP: 4, EP: 4, MoELayers: 4, Capacity: 1.25})
	gathered := thesisModel(16, Model{DP: 4, EP: 4, MoELayers: 4, Dispatcher: DispatchAllGather})
	if a, b, c := sent(base), sent(padded), sent(gathered); a == 0 || math.Abs(b/a-1.25) > 1e-12 || math.Abs(c/a-4) > 1e-12 {
		t.Errorf("%v, padded %v, gathered %v", a, b, c)
	}
}

// The ratio is exactly that of counts times that of sizes, and excesses add up.
func TestCompare(t *testing.T) {
	m := small()
	r := rand.New(rand.NewPCG(1, 1))
	theory := m.Flows(0, SendsAndReceives)
	var calls []Flow
	for _, f := range theory {
		for range int(f.Calls) * 3 / 2 {
			calls = append(calls, CallFlow(f.Dimension, f.Op, f.Ranks, r.Int64N(5000)))
		}
	}
	calls = append(calls, CallFlow(parallel.UnknownKind, nccl.Broadcast, 8, 77), CallFlow(parallel.UnknownKind, nccl.AllReduce, 1, 1<<40))
	c := Compare(theory, calls)
	var excess float64
	for _, row := range c.Rows {
		excess += row.Excess
		if row.Op == nccl.Broadcast {
			if !math.IsNaN(row.Ratio) || row.Excess != 77 {
				t.Errorf("what is not in the model: %+v", row)
			}
			continue
		}
		if math.Abs(row.Ratio/(row.Count*row.Size)-1) > 1e-12 || math.Abs(row.Count-1.5) > 0.2 {
			t.Errorf("%+v", row)
		}
	}
	if want := c.Observed.Logged + c.Unmodelled.Logged - c.Theory.Logged; math.Abs(excess-want) > 1e-3 || c.Unmodelled.Logged != 77 {
		t.Errorf("excesses add up to %v, want %v; %v not modelled", excess, want, c.Unmodelled.Logged)
	}
	silent := Compare(theory, nil)
	if row := silent.Rows[0]; row.Ratio != 0 || row.Excess != -row.Theory.Logged {
		t.Errorf("nothing seen: %+v", row)
	}
}

// A Send to oneself is logged and leaves no rank.
func TestSelf(t *testing.T) {
	c := Compare(nil, []Flow{CallFlow(parallel.ExpertParallel, nccl.Send, 2, 5).Loopback(), CallFlow(parallel.ExpertParallel, nccl.Send, 2, 7)})
	if f := c.Rows[0].Observed; len(c.Rows) != 1 || f.Logged != 12 || f.Sent != 7 || f.Calls != 2 {
		t.Errorf("got %+v", c)
	}
}

func TestRefused(t *testing.T) {
	good := small()
	for want, spoil := range map[string]func(m *Model){
		"layers is 0":                      func(m *Model) { m.Layers = 0 },
		"hidden is -1":                     func(m *Model) { m.Hidden = -1 },
		"sequence is 17000000":             func(m *Model) { m.Sequence = 17_000_000 },
		"layers, 4, is no multiple of pp·": func(m *Model) { m.PP = 3 },
		"global_batch, 16, is no mult":     func(m *Model) { m.Microbatch = 3 },
		"dp, 2, is no multiple of ep":      func(m *Model) { m.EP = 4; m.Experts = 4 },
		"moe_layers is 5":                  func(m *Model) { m.MoELayers = 5 },
		"sharding is \"all\"":              func(m *Model) { m.Sharding = "all" },
		"dispatcher is":                    func(m *Model) { m.Dispatcher = "tokens" },
		"capacity_factor is -1":            func(m *Model) { m.Capacity = -1 },
		"virtual_stages is 2, and pp":      func(m *Model) { m.PP, m.Virtual = 1, 2 },
		"no multiple of pp·virtual":        func(m *Model) { m.Virtual = 3 },
		"top_k is 3":                       func(m *Model) { m.TopK = 3 },
		"expected at most 16777216 ranks":  func(m *Model) { m.TP, m.PP, m.Layers = 1<<20, 1<<4, 1<<4 },
	} {
		m := good
		spoil(&m)
		if _, err := m.Complete(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := good.Complete(); err != nil {
		t.Error(err)
	}
}

func ExampleCompare() {
	m, _ := Model{Layers: 16, Hidden: 512, Sequence: 1024, Vocabulary: 50304, Microbatch: 4, GlobalBatch: 64, ElementBytes: 2, DP: 4, Iterations: 1}.Complete()
	call := CallFlow(parallel.DataParallel, nccl.AllReduce, 4, 76_718_080)
	r := Compare(m.Flows(0, SendsAndReceives), []Flow{call, call}).Rows[0]
	fmt.Printf("%v %v: %.3f of the bytes, %.0f times the calls, each %.2f of the size\n", r.Dimension, r.Op, r.Ratio, r.Count, r.Size)
	// Output: DP AllReduce: 1.000 of the bytes, 2 times the calls, each 0.50 of the size
}
