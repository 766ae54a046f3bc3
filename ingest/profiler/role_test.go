package profiler

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
