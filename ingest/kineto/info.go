package kineto

import (
	"bytes"
	"strings"

	"github.com/sfstat/sfstat/ingest/profile"
	"github.com/sfstat/sfstat/trace"
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
		members(v, f.distributed)
	case "baseTimeNanoseconds":
		if n, ok := base(v); ok {
			f.base = n
		}
	default:
		if host := clean(v); len(host) > 0 && v[0] == '"' {
			f.host = host
		}
	}
}

// base reads nanoseconds, which have 19 digits.
func base(v []byte) (int64, bool) {
	v = text(v)
	if len(v) == 0 || len(v) > 19 {
		return 0, false
	}
	var n int64
	for _, c := range v {
		if c < '0' || c > '9' || n > 1<<62/10 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, n <= 1<<61
}

func clean(v []byte) string { return strings.ToValidUTF8(string(text(v)), "�") }

func (f *info) distributed(key, v []byte) {
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
		elements(v, f.processGroup)
	}
}

func (f *info) processGroup(v []byte) {
	var name string
	var g group
	members(v, func(key, v []byte) {
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
			g.ranks, _ = rankList(v)
		}
	})
	if f.groups == nil {
		f.groups = make(map[string]group)
	}
	f.groups[name] = g
}

// rankList reads a list of ranks: an array, or the text of one. A list that
// was cut ("[0, 1, …, ...") is not known.
func rankList(v []byte) (ranks []int, ok bool) {
	v = text(v)
	if bytes.Contains(v, []byte("...")) {
		return nil, false
	}
	ok = true
	elements(v, func(v []byte) {
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
	var groups []profile.Group
	for _, g := range f.groups {
		groups = append(groups, profile.Group{Desc: g.desc, Ranks: g.ranks})
	}
	if f.hasRank {
		r.Role = profile.RoleOf(r.ID, groups)
	}
	for i := range r.Collectives {
		c := &r.Collectives[i]
		g, ok := f.groups[c.Group]
		if !ok {
			continue
		}
		if c.Ranks == nil {
			c.Ranks = g.ranks
		}
		if c.Desc == "" {
			c.Desc = g.desc
		}
		if c.Size == 0 {
			c.Size = max(g.size, len(g.ranks))
		}
	}
	r.Shift(f.base)
}

// call reads the arguments of a collective.
func (d *reader) call(e *event) profile.Call {
	c := profile.Call{Name: paramComms, Seq: -1, Bytes: -1, Peer: -1}
	elements, start, stride := int64(-1), int64(-1), int64(-1)
	var list []byte
	var src, dst, own int64 = -1, -1, -1
	whole := map[string]*int64{"In msg nelems": &elements, "Global rank start": &start, "Global rank stride": &stride,
		"Src Rank": &src, "Dst Rank": &dst, "Rank": &own, "Seq": &c.Seq}
	members(e.args, func(key, v []byte) {
		if at := whole[string(key)]; at != nil {
			if n, ok := integer(v); ok {
				*at = n
			}
			return
		}
		switch string(key) {
		case "Collective name":
			c.Name = clean(v)
		case "Group size":
			if n, ok := integer(v); ok && n > 0 && n <= trace.MaxRanks {
				c.Size = int(n)
			}
		case "dtype":
			c.Dtype = clean(v)
		case "Process Group Name":
			c.Group = clean(v)
		case "Process Group Description":
			c.Desc = clean(v)
		case "Process Group Ranks":
			list = v
		}
	})
	if size := profile.BytesOf(c.Dtype); size > 0 && elements >= 0 && elements < 1<<50 {
		c.Bytes = elements * size
	}
	c.Ranks = d.members(list, start, stride, c.Size)
	if dst >= 0 && dst != own {
		c.Peer = int(dst)
	} else if src >= 0 && src != own {
		c.Peer = int(src)
	}
	return c
}

// maxGroups bounds the lists of members that are kept.
const maxGroups = 1 << 14

// members are the ranks of a group: as listed, else by where they start and
// how far they are apart.
func (d *reader) members(list []byte, start, stride int64, size int) []int {
	if ranks, ok := d.groups[string(list)]; ok && len(list) > 0 {
		return ranks
	}
	ranks, ok := rankList(list)
	if !ok && size > 0 && start >= 0 && stride > 0 && start+int64(size)*stride <= trace.MaxRanks {
		for i := range size {
			ranks = append(ranks, int(start+int64(i)*stride))
		}
		return ranks
	}
	if len(d.groups) < maxGroups && len(list) > 0 {
		d.groups[string(list)] = ranks
	}
	return ranks
}
