package profiler

import (
	"slices"
	"strings"
	"unicode"

	"github.com/sfstat/sfstat/trace"
)

// Group is a process group that a rank is in, as its job describes it.
type Group struct {
	Desc  string // "mesh_tp", "TENSOR_MODEL_PARALLEL_GROUP", "default_pg"
	Ranks []int  // in the order of the group
}

// axisWords are words of descriptions that tell along which axis a group
// lies: of torch's device meshes and of Megatron-LM.
var axisWords = map[string]string{
	"tp": "tp", "tensor": "tp", "pp": trace.PipelineParallel, "pipeline": trace.PipelineParallel,
	"ep": "ep", "expert": "ep", "cp": "cp", "context": "cp", "dp": trace.DataParallel, "data": trace.DataParallel,
}

// RoleOf returns the place of a rank in the parallel layout: along each axis its
// position in the group that lies along it. Groups along several axes at once
// ("tensor_and_data") tell nothing, and neither do two different groups along
// one axis. nil: nothing is known.
func RoleOf(rank int, groups []Group) trace.Role {
	along := make(map[string][]int)
	unclear := make(map[string]bool)
	for _, g := range groups {
		axis := axisOf(g.Desc)
		if axis == "" || slices.Index(g.Ranks, rank) < 0 {
			continue
		}
		if have, ok := along[axis]; ok && !slices.Equal(have, g.Ranks) {
			unclear[axis] = true
		}
		along[axis] = g.Ranks
	}
	var coords []trace.Coord
	for axis, ranks := range along {
		if !unclear[axis] {
			coords = append(coords, trace.Coord{Axis: axis, Index: slices.Index(ranks, rank)})
		}
	}
	role, err := trace.NewRole(coords...)
	if err != nil || len(role) == 0 {
		return nil
	}
	return role
}

// axisOf returns the only axis that a description names, "": none or several.
func axisOf(desc string) string {
	axis := ""
	for _, word := range strings.FieldsFunc(strings.ToLower(desc), func(r rune) bool { return !unicode.IsLetter(r) }) {
		switch a := axisWords[word]; {
		case a == "":
		case axis != "" && a != axis:
			return ""
		default:
			axis = a
		}
	}
	return axis
}
