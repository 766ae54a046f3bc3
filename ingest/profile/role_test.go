package profile

import "testing"

func TestRoleOf(t *testing.T) {
	whole := Group{"default_pg", []int{0, 1, 2, 3, 4, 5, 6, 7}}
	for name, tt := range map[string]struct {
		groups []Group
		want   string
	}{
		"data parallel alone": {[]Group{whole}, ""},
		"mesh":                {[]Group{whole, {"mesh_dp", []int{1, 5}}, {"mesh_tp", []int{4, 5}}}, "dp=1,tp=1"},
		"Megatron": {[]Group{whole, {"DATA_PARALLEL_GROUP", []int{4, 5}}, {"DATA_PARALLEL_GROUP_WITH_CP", []int{4, 5, 6}},
			{"PIPELINE_MODEL_PARALLEL_GROUP", []int{1, 5}}, {"TENSOR_AND_DATA_PARALLEL_GROUP", []int{4, 5, 6, 7}}}, "dp=1,pp=1"},
		"another's group":      {[]Group{{"mesh_tp", []int{0, 1}}}, ""},
		"two along one axis":   {[]Group{{"mesh_dp_replicate", []int{1, 5}}, {"mesh_dp_shard", []int{4, 5}}, {"mesh_tp", []int{5}}}, "tp=0"},
		"the same one, twice":  {[]Group{{"DATA_PARALLEL_GROUP", []int{4, 5}}, {"DATA_PARALLEL_GROUP_GLOO", []int{4, 5}}}, "dp=1"},
		"nothing is described": {[]Group{{"undefined", []int{4, 5}}}, ""},
	} {
		if got := RoleOf(5, tt.groups).String(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestSettleRoles: roles are all or nothing.
func TestSettleRoles(t *testing.T) {
	make4 := func() []*Rank {
		var out []*Rank
		for id := range 4 {
			r := recorded("r"+itoa(int64(id)), id, 4, 0, 1)
			r.Role = RoleOf(id, []Group{{"mesh_tp", []int{id / 2 * 2, id/2*2 + 1}}, {"mesh_dp", []int{id % 2, id%2 + 2}}})
			out = append(out, r)
		}
		return out
	}
	if got := Jobs(make4())[0].Ranks[3].Role.String(); got != "dp=1,tp=1" {
		t.Errorf("role %q", got)
	}
	for name, spoil := range map[string]func(r *Rank){
		"one has none":       func(r *Rank) { r.Role = nil },
		"one has fewer axes": func(r *Rank) { r.Role = r.Role[:1] },
		"two are the same":   func(r *Rank) { r.Role = RoleOf(0, []Group{{"tp", []int{0}}, {"dp", []int{0}}}) },
	} {
		ranks := make4()
		spoil(ranks[3])
		if got := Jobs(ranks)[0].Ranks[0].Role; got != nil {
			t.Errorf("%s: role %v", name, got)
		}
	}
}
