package whatif

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/input"
)

// graph is the program of one replica in one step: what every operator waits
// for. All replicas and steps share it.
type graph struct {
	Nodes  []Node
	Groups []Group
}

// Node is one operator of the program.
type Node struct {
	Op    string // its kind, such as "forward-compute"
	Seq   int    // ordinal of the kind on its stage, for messages
	Stage int
	After []int32 // nodes that end before this one starts
	// Communication makes the ideal duration of the kind its median, as
	// network times have outliers; else it is the mean.
	Communication bool
	Final         bool // the step is done when all final nodes have ended
}

func (n Node) String() string { return fmt.Sprintf("%s %d of stage %d", n.Op, n.Seq, n.Stage) }

// Group is nodes that communicate: each starts when it can, and they transfer
// once the last has started. A node is in one group at most.
type Group struct {
	Members []int32
	// AcrossReplicas: the members of all replicas transfer together.
	AcrossReplicas bool
}

// instruction starts a node, or ends a group whose members have all started.
type instruction struct {
	node  int32
	group int32 // −1, or the group that the node is in
	ends  bool  // of the group's members, this is the last to start
}

// program is a graph in an order in which it can be computed.
type program struct {
	nodes  []Node
	groups []Group
	order  []instruction
}

// compile orders the graph topologically; it refuses a graph in which nodes
// wait for each other, and names them.
func compile(g graph, replicas int) (*program, error) {
	groupOf, groups := g.membership(replicas)
	p := &program{nodes: g.Nodes, groups: groups}
	waits := make([]int, len(g.Nodes)) // nodes that a node still waits for
	next := make([][]int32, len(g.Nodes))
	for v, n := range g.Nodes {
		for _, u := range n.After {
			next[u] = append(next[u], int32(v))
			waits[v]++
		}
	}
	unstarted := make([]int, len(groups))
	for i, group := range groups {
		unstarted[i] = len(group.Members)
	}
	var ready []int32
	for v, n := range waits {
		if n == 0 {
			ready = append(ready, int32(v))
		}
	}
	end := func(u int32) {
		for _, v := range next[u] {
			if waits[v]--; waits[v] == 0 {
				ready = append(ready, v)
			}
		}
	}
	for at := 0; at < len(ready); at++ {
		v := ready[at]
		in := instruction{node: v, group: groupOf[v]}
		if in.group < 0 {
			end(v)
		} else if unstarted[in.group]--; unstarted[in.group] == 0 {
			in.ends = true
			for _, u := range groups[in.group].Members {
				end(u)
			}
		}
		p.order = append(p.order, in)
	}
	if len(p.order) < len(g.Nodes) || slices.ContainsFunc(unstarted, func(n int) bool { return n > 0 }) {
		return nil, input.Bad(input.ErrFormat, "operators wait for each other: %s", g.deadlock(p.order, groupOf, groups))
	}
	return p, nil
}

// membership gives the group of every node. Groups without anyone to wait for
// are dropped: their members are ordinary.
func (g graph) membership(replicas int) ([]int32, []Group) {
	of := slices.Repeat([]int32{-1}, len(g.Nodes))
	var kept []Group
	for _, group := range g.Groups {
		group.AcrossReplicas = group.AcrossReplicas && replicas > 1
		if len(group.Members) < 2 && !(group.AcrossReplicas && len(group.Members) == 1) {
			continue
		}
		for _, v := range group.Members {
			of[v] = int32(len(kept))
		}
		kept = append(kept, group)
	}
	return of, kept
}

// deadlock names nodes that wait for each other in a circle, given those that
// could start.
func (g graph) deadlock(started []instruction, groupOf []int32, groups []Group) string {
	ran, ended := make([]bool, len(g.Nodes)), make([]bool, len(g.Nodes))
	for _, in := range started {
		ran[in.node] = true
		ended[in.node] = in.group < 0
		if in.ends {
			for _, u := range groups[in.group].Members {
				ended[u] = true
			}
		}
	}
	seen := make(map[int32]int)
	var path []int32
	for v := int32(slices.Index(ran, false)); ; {
		if from, again := seen[v]; again {
			path = append(path[from:], v)
			break
		}
		seen[v] = len(path)
		path = append(path, v)
		candidates, open := g.Nodes[v].After, ended
		if ran[v] { // it waits for the rest of its group
			candidates, open = groups[groupOf[v]].Members, ran
		}
		v = candidates[slices.IndexFunc(candidates, func(u int32) bool { return !open[u] })]
	}
	words := make([]string, len(path))
	for i, v := range path {
		words[i] = g.Nodes[v].String()
	}
	if len(words) > 8 {
		words = append(append(words[:6:6], "…"), words[len(words)-1])
	}
	return strings.Join(words, " waits for ")
}
