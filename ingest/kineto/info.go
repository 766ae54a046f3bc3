package kineto

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/profile"
)

// metadata are the members of the document that are kept.
var metadata = map[string]bool{"distributedInfo": true, "baseTimeNanoseconds": true, "host_name": true, "hostname": true}

// info is what the document tells of the job.
type info struct {
	rank, world int64 // −1 and 0 unless told
	hasRank     bool
	backend     string
	host        string
	base        int64            // ns that all stamps count from
	groups      map[string]group // by name
	members     int              // in all of them
}

// group is a process group of the configuration.
type group struct {
	desc  string
	ranks []int
	size  int
}

// take keeps one member of the document.
func (f *info) take(key string, v []byte) {
	switch key {
	case "distributedInfo":
		members(v, '{', f.distributedInfo)
	case "baseTimeNanoseconds":
		if n, ok := integer(v); ok && n >= 0 && n <= 1<<61 { // 19 digits
			f.base = n
		}
	default:
		if host := clean(v); len(host) > 0 && v[0] == '"' {
			f.host = host
		}
	}
}

// clean returns a value as text, cut as names are.
func clean(v []byte) string {
	v = text(v)
	return strings.ToValidUTF8(string(v[:min(len(v), trace.MaxName)]), "�")
}

// distributedInfo keeps one member of distributedInfo: the rank, the number of ranks, the backend or the process groups.
func (f *info) distributedInfo(key, v []byte) {
	switch string(key) {
	case "rank":
		if n, ok := integer(v); ok && n >= 0 && n < trace.MaxRanks {
			f.rank, f.hasRank = n, true
		}
	case "world_size":
		if n, ok := integer(v); ok && n > 0 && n <= trace.MaxRanks {
			f.world = n
		}
	case "backend":
		f.backend = clean(v)
	case "pg_config":
		if len(v) > 0 && v[0] == '"' { // some write it as a text
			v = bytes.ReplaceAll(text(v), []byte("'"), []byte(`"`))
		}
		members(v, '[', f.processGroup)
	}
}

func (f *info) processGroup(_, v []byte) {
	var name string
	var g group
	members(v, '{', func(key, v []byte) {
		switch string(key) {
		case "pg_name":
			name = clean(v)
		case "pg_desc":
			g.desc = clean(v)
		case "pg_size":
			if n, ok := integer(v); ok && n > 0 && n <= trace.MaxRanks {
				g.size = int(n)
			}
		case "ranks":
			if ranks, ok := rankList(v); ok && f.members+len(ranks) <= maxMembers {
				g.ranks = ranks
				f.members += len(ranks)
			}
		}
	})
	if f.groups == nil {
		f.groups = make(map[string]group)
	}
	if len(f.groups) < maxGroups {
		f.groups[name] = g
	}
}

// rankList reads a list of ranks: an array, or the text of one. A list that
// was cut ("[0, 1, …, ...") is not known.
func rankList(v []byte) (ranks []int, ok bool) {
	v = text(v)
	if bytes.Contains(v, []byte("...")) {
		return nil, false
	}
	ok = true
	members(v, '[', func(_, v []byte) {
		n, isNumber := integer(v)
		if !isNumber || n < 0 || n >= trace.MaxRanks || len(ranks) >= trace.MaxRanks {
			ok = false
			return
		}
		ranks = append(ranks, int(n))
	})
	if !ok || len(ranks) == 0 {
		return nil, false
	}
	return ranks, true
}

// apply puts what the document tells on the rank.
func (f *info) apply(r *profile.Rank) {
	if f.hasRank {
		r.ID = int(f.rank)
	}
	r.World, r.Host = int(f.world), f.host
	if f.backend != "" {
		r.Backend = f.backend
	}
	var groups []profiler.Group
	for _, g := range f.groups {
		groups = append(groups, profiler.Group{Desc: g.desc, Ranks: g.ranks})
	}
	if f.hasRank {
		r.Role = profiler.RoleOf(r.ID, groups)
	}
	only, alike := f.defaultGroup()
	for i := range r.Entered.Groups {
		if g := &r.Entered.Groups[i]; g.Name == "" && alike {
			g.Name = only
		}
	}
	f.describe(r.Comm.Groups)
	f.describe(r.Entered.Groups)
	r.Groups = len(f.groups)
	r.Shift(f.base)
}

// defaultGroup returns the name of the group, where there is one, or of the first of several that have the same
// ranks: calls that do not name theirs are entered by all of them, whichever it is.
func (f *info) defaultGroup() (name string, ok bool) {
	names := slices.Sorted(maps.Keys(f.groups))
	if len(names) == 0 {
		return "", false
	}
	first := f.groups[names[0]]
	for _, n := range names[1:] {
		if g := f.groups[n]; g.ranks == nil || !slices.Equal(g.ranks, first.ranks) {
			return "", false
		}
	}
	return names[0], true
}

// describe gives groups what the configuration tells of them.
func (f *info) describe(groups []comms.Group) {
	for i := range groups {
		g := &groups[i]
		told, ok := f.groups[g.Name]
		if !ok {
			continue
		}
		if g.Members == nil {
			g.Members = told.ranks
		}
		if g.Desc == "" {
			g.Desc = told.desc
		}
		if g.Size == 0 {
			g.Size = max(told.size, len(told.ranks))
		}
	}
}

// word returns one copy of what many events say again, and bounded as names are.
func (d *reader) word(b []byte) string { return d.b.Text(d.b.Name(b)) }

// wholeNumbers are the arguments of a collective that are whole numbers, −1:
// not told. src and dst are ranks of the job; "Rank", which is left out, is the
// position of the same peer in the group.
type wholeNumbers struct{ elements, start, stride, src, dst, seq int64 }

// call reads the arguments of a collective.
func (d *reader) call(e *event) profiler.Call {
	c := profiler.Call{Name: paramComms, Bytes: -1, Self: -1, Peer: -1}
	w := wholeNumbers{-1, -1, -1, -1, -1, -1}
	var list []byte
	dtype := ""
	members(e.args, '{', func(key, v []byte) {
		take := func(to *int64) {
			if n, ok := integer(v); ok {
				*to = n
			}
		}
		switch string(key) {
		case "In msg nelems":
			take(&w.elements)
		case "Global rank start":
			take(&w.start)
		case "Global rank stride":
			take(&w.stride)
		case "Src Rank":
			take(&w.src)
		case "Dst Rank":
			take(&w.dst)
		case "Seq":
			take(&w.seq)
		case "Collective name":
			c.Name = d.word(text(v))
		case "Group size":
			if n, ok := integer(v); ok && n > 0 && n <= trace.MaxRanks {
				c.Size = int(n)
			}
		case "dtype":
			dtype = d.word(text(v))
		case "Process Group Name":
			c.Group = d.word(text(v))
		case "Process Group Description":
			c.Desc = d.word(text(v))
		case "Process Group Ranks":
			list = v
		}
	})
	if size := profiler.BytesOf(dtype); size > 0 && w.elements >= 0 && w.elements < 1<<50 {
		c.Bytes = w.elements * size
	}
	c.Seq = max(w.seq, -1)
	c.Ranks = d.groups.ranksOf(list, stride{start: w.start, step: w.stride, size: c.Size})
	switch op := nccl.OpIn(c.Name); {
	case op == nccl.Send && w.dst >= 0 && w.dst < trace.MaxRanks:
		c.Peer = int(w.dst)
	case op == nccl.Recv && w.src >= 0 && w.src < trace.MaxRanks:
		c.Peer = int(w.src)
	}
	return c
}
