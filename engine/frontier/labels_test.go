package frontier

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
)

// golden reads a vector of the independent oracle.
func golden(t testing.TB, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "oracle", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func TestRoutingAgainstOracle(t *testing.T) {
	var file struct {
		Cases []struct {
			Share   []float64
			Tau     float64
			Ranking []int
			Set     []int
		}
		RejectedTau []any `json:"rejected_tau"`
	}
	golden(t, "routing.json", &file)
	if len(file.Cases) < 50 || len(file.RejectedTau) == 0 {
		t.Fatalf("golden file has %d cases and %d rejected taus", len(file.Cases), len(file.RejectedTau))
	}
	for i, c := range file.Cases {
		if got := labels.Rank(c.Share); !slices.Equal(got, c.Ranking) {
			t.Errorf("case %d: Ranking(%v) = %v, want %v", i, c.Share, got, c.Ranking)
		}
		got := labels.RoutingSet(c.Share, c.Tau)
		if !slices.Equal(got, c.Set) {
			t.Errorf("case %d: RoutingSet(%v, %v) = %v, want %v", i, c.Share, c.Tau, got, c.Set)
		}
	}
	for _, v := range file.RejectedTau {
		if tau, ok := v.(float64); ok {
			g := gates.Default()
			if g.Tau = tau; g.Validate() == nil {
				t.Errorf("gates accept tau %v", tau)
			}
		}
	}
}

// oracleEvidence is the evidence of the oracle's labeler, by its field names.
type oracleEvidence struct {
	Usable          *bool
	Ranks           *int
	GatherOK        *bool    `json:"gather_ok"`
	MissingRanks    int      `json:"missing_ranks"`
	SchemaOK        *bool    `json:"schema_ok"`
	ClosureResidual *float64 `json:"closure_residual_share"`
	OverlapError    float64  `json:"overlap_error_share"`
	RoleMix         string   `json:"role_mix"`
	Accumulation    string
	DenominatorOK   *bool `json:"denominator_ok"`
	Shares, Gains   []float64
	RawAgrees       *bool           `json:"raw_agrees"`
	SpreadAgrees    json.RawMessage `json:"spread_agrees"`
	LagShare        json.RawMessage `json:"lag_share"`
	SwitchRate      json.RawMessage `json:"leader_switch_rate"`
	Events          *struct {
		Sampled, Ready int
		StreamsCovered *bool   `json:"streams_covered"`
		Share          float64 `json:"event_share"`
		OverCPU        float64 `json:"event_over_cpu"`
	}
	ModelFit     *int `json:"model_fit"`
	ForwardStage *int `json:"forward_stage"`
}

func (o oracleEvidence) evidence(t testing.TB) labels.Evidence {
	is := func(p *bool, otherwise bool) bool {
		if p == nil {
			return otherwise
		}
		return *p
	}
	number := func(raw json.RawMessage) *float64 {
		zero := 0.0
		if len(raw) == 0 {
			return &zero
		}
		var v *float64
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	e := labels.Evidence{Ranks: 8, Unusable: !is(o.Usable, true), GatherFailed: !is(o.GatherOK, true), MissingRanks: o.MissingRanks,
		SchemaMismatch: !is(o.SchemaOK, true), ClosureResidual: 0.01, OverlapError: o.OverlapError,
		Shares: o.Shares, Gains: o.Gains, LagShare: number(o.LagShare), SwitchRate: number(o.SwitchRate), Forward: []int{1}}
	if o.Ranks != nil {
		e.Ranks = *o.Ranks
	}
	if o.ClosureResidual != nil {
		e.ClosureResidual = *o.ClosureResidual
	}
	e.Roles = map[string]labels.Roles{"": labels.RolesHomogeneous, "homogeneous": labels.RolesHomogeneous, "grouped": labels.RolesGrouped,
		"undeclared": labels.RolesUndeclared, "mixed": labels.RolesMixed}[o.RoleMix]
	e.Folded = o.Accumulation == "collapsed"
	if !is(o.DenominatorOK, true) {
		e.Shares = nil
	}
	if !is(o.RawAgrees, true) {
		e.Raw = labels.Disagrees
	}
	switch string(o.SpreadAgrees) {
	case "null":
		e.Spread = labels.Negligible
	case "false":
		e.Spread = labels.Disagrees
	}
	e.ModelFit = o.ModelFit != nil && *o.ModelFit == 1
	if o.Events != nil {
		e.Events = &labels.Events{Sampled: o.Events.Sampled, Ready: o.Events.Ready, SideStreams: !is(o.Events.StreamsCovered, true),
			Share: o.Events.Share, OverWall: o.Events.OverCPU}
		e.DeviceExcess = o.Events.Share // the table has no peers: all of the time is excess
	}
	if o.ForwardStage != nil {
		e.Forward = []int{*o.ForwardStage}
	}
	return e
}

func names[T interface{ String() string }](v []T) []string {
	out := make([]string, len(v))
	for i, x := range v {
		out[i] = x.String()
	}
	slices.Sort(out)
	return out
}

func checkDecision(t *testing.T, got labels.Decision, labels, reasons []string, routing, coCritical []int) {
	t.Helper()
	if g := names(got.Labels); !slices.Equal(g, labels) {
		t.Errorf("labels %v, want %v", g, labels)
	}
	if g := names(got.Reasons); !slices.Equal(g, reasons) {
		t.Errorf("reasons %v, want %v", g, reasons)
	}
	if !slices.Equal(got.Routing, routing) {
		t.Errorf("routing %v, want %v", got.Routing, routing)
	}
	if !slices.Equal(got.CoCritical, coCritical) {
		t.Errorf("co-critical %v, want %v", got.CoCritical, coCritical)
	}
}

func TestLabelTable(t *testing.T) {
	var file struct {
		Rows []struct {
			Name     string `json:"row"`
			Evidence oracleEvidence
			Expect   struct {
				Labels     []string
				Routing    []int
				CoCritical []int `json:"co_critical_stages"`
				Reasons    []string
			}
		}
	}
	golden(t, "labels_table.json", &file)
	if len(file.Rows) < 68 {
		t.Fatalf("the table has %d rows, want 68 or more", len(file.Rows))
	}
	for _, row := range file.Rows {
		t.Run(row.Name, func(t *testing.T) {
			got := labels.Decide(row.Evidence.evidence(t), gates.Default())
			checkDecision(t, got, row.Expect.Labels, row.Expect.Reasons, row.Expect.Routing, row.Expect.CoCritical)
		})
	}
}

// TestDeviceLabelAsksForAnExcess: a device time that is high on all ranks alike is no evidence of a
// fault, unless another run has less.
func TestDeviceLabelAsksForAnExcess(t *testing.T) {
	for _, c := range []struct {
		name      string
		excess    float64
		reference bool
		gain      float64
		want      bool
	}{
		{"as on the other ranks", 0.02, false, 0.3, false},
		{"more than on the other ranks", 0.10, false, 0, true},
		{"more than in another run", 0, true, 0.10, true},
		{"as in another run", 0, true, 0.09, false},
	} {
		e := labels.Evidence{Ranks: 8, Shares: []float64{0.05, 0.6, 0.35}, Gains: []float64{0, c.gain, 0}, Forward: []int{1},
			Events: &labels.Events{Sampled: 12, Ready: 12, Share: 0.45, OverWall: 3}, DeviceExcess: c.excess, Reference: c.reference}
		if got := slices.Contains(labels.Decide(e, gates.Default()).Labels, labels.ForwardDeviceSupported); got != c.want {
			t.Errorf("%s: labelled %v", c.name, got)
		}
	}
}
