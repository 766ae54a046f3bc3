package flightrecorder

import (
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/trace/comms"
)

// group is the group of an entry. Its pg_id is the process's own number, which
// pg_status goes by; name and description are in process_group, which entries
// of version 2.0 may lack.
func (d *decoder) group(e *record) int {
	var name, desc value
	at := 0
	for v := range d.each(e[fGroup]) {
		switch at {
		case 0:
			name = v
		case 1:
			desc = v
		}
		at++
	}
	d.key = append(append(d.key[:0], d.text(name)...), 0)
	d.key = append(append(d.key, d.text(desc)...), 0)
	id := numberOr(e[fGroupID], -1)
	d.key = strconv.AppendInt(d.key, id, 10)
	if i, ok := d.groups[string(d.key)]; ok {
		return i
	}
	g := comms.Group{Name: d.held(name), Desc: d.held(desc), Rank: -1, Enqueued: -1, Started: -1, Completed: -1}
	if name.kind == null && id >= 0 {
		g.Name = strconv.FormatInt(id, 10)
	}
	i := len(d.out.Groups)
	d.out.Groups, d.ids = append(d.out.Groups, g), append(d.ids, id)
	d.groups[string(d.key)] = i
	return i
}

// status completes the groups with what pg_status and pg_config say of them. A
// group that has a status and no entry is added: its calls left the ring, or
// were sends and receives, which Gloo does not record.
func (d *decoder) status() {
	var s record
	for number, item := range d.pairs(d.head[fStatus]) {
		d.read(item, &s)
		g := d.numbered(d.held(number))
		g.Enqueued = d.numberOrText(s[fEnqueued], -1)
		g.Started = d.numberOrText(s[fStarted], -1)
		g.Completed = d.numberOrText(s[fCompleted], -1)
	}
	var c record
	for name, item := range d.pairs(d.head[fConfig]) {
		d.read(item, &c)
		d.configure(d.held(name), &c)
	}
}

// numbered is the group with a number of the process's own.
func (d *decoder) numbered(number string) *comms.Group {
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		id = -1
	}
	for i := range d.out.Groups {
		if g := &d.out.Groups[i]; d.ids[i] == id && id >= 0 || d.ids[i] < 0 && g.Name == number {
			return g
		}
	}
	d.out.Groups = append(d.out.Groups, comms.Group{Name: number, Rank: -1, Enqueued: -1, Started: -1, Completed: -1})
	d.ids = append(d.ids, id)
	return &d.out.Groups[len(d.out.Groups)-1]
}

// configure sets the members of a group. Gloo's dumps call whichever group was
// made last "", so that this name says something only where there is one group.
func (d *decoder) configure(name string, c *record) {
	members := d.members(c[fRanks])
	for i := range d.out.Groups {
		g := &d.out.Groups[i]
		if g.Name != name && (name != "" || len(d.out.Groups) != 1) {
			continue
		}
		if desc := d.held(c[fDesc]); g.Desc == "" {
			g.Desc = desc
		}
		g.Members, g.Size, g.Rank = members, len(members), -1
		for at, rank := range members {
			if rank == d.out.Processes[0].Rank {
				g.Rank = at
			}
		}
	}
}

// members reads "[0, 1, …]", or a list of numbers. Dumps of one job have the same
// text, which is read once.
func (d *decoder) members(v value) []int {
	if v.kind == text {
		written := d.text(v)
		if d.ranks == nil || d.listed != string(written) {
			d.listed, d.ranks = string(written), ranksOf(string(written))
		}
		return d.ranks
	}
	var ranks []int
	for item := range d.each(v) {
		rank, ok := number(item)
		if !ok || rank < 0 || rank > 1<<30 {
			return nil
		}
		ranks = append(ranks, int(rank))
	}
	return ranks
}

// ranksOf reads "[0, 1, …]", nil where it is something else.
func ranksOf(written string) (ranks []int) {
	for part := range strings.SplitSeq(strings.Trim(written, "[]() "), ",") {
		rank, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || rank < 0 {
			return nil
		}
		ranks = append(ranks, rank)
	}
	return ranks
}
