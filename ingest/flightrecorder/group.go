package flightrecorder

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/trace/comms"
)

// group returns the group of an entry. Its pg_id is the process's own number, which
// pg_status goes by; name and description are in process_group, which entries
// of version 2.0 may lack.
func (d *decoder) group(e *record) int {
	var name, desc value
	at := 0
	for v := range d.itemsOf(e[fGroup]) {
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
	g := comms.Group{Name: d.intern(name), Desc: d.intern(desc), Rank: -1, Enqueued: -1, Completed: -1}
	if name.kind == null && id >= 0 {
		g.Name = strconv.FormatInt(id, 10)
	}
	i := len(d.out.Groups)
	d.out.Groups, d.ids = append(d.out.Groups, g), append(d.ids, id)
	d.groups[string(d.key)] = i
	return i
}

// status completes the groups with what pg_status and pg_config say of them. A
// group that has a status and no entry is added: its calls left the ring, are
// done in a dump of active calls, or were sends and receives, which Gloo does not record.
func (d *decoder) status() {
	names := d.namesByNumber()
	var s record
	for number, item := range d.pairs(d.head[fStatus]) {
		d.read(item, &s)
		d.checkKeys(item)
		g := d.groupOfNumber(d.intern(number), names)
		g.Enqueued = d.numberOrText(s[fEnqueued], -1)
		g.Completed = d.numberOrText(s[fCompleted], -1)
	}
	var c record
	for name, item := range d.pairs(d.head[fConfig]) {
		d.read(item, &c)
		d.checkKeys(item)
		d.configure(d.intern(name), &c)
	}
}

// namesByNumber returns the names of groups by the process's own numbers, nil where the dump does not tell:
// pg_status goes by number, pg_config by name, and an entry, which has both, may be missing. A process
// numbers its groups in the order in which it makes them, as all processes name theirs by a counter; so
// the one list is the other, sorted.
func (d *decoder) namesByNumber() map[int64]string {
	var numbers, names []int64
	for number := range d.pairs(d.head[fStatus]) {
		n, err := strconv.ParseInt(d.intern(number), 10, 64)
		if err != nil {
			return nil
		}
		numbers = append(numbers, n)
	}
	for name := range d.pairs(d.head[fConfig]) {
		n, err := strconv.ParseInt(d.intern(name), 10, 64)
		if err != nil {
			return nil
		}
		names = append(names, n)
	}
	if len(numbers) != len(names) {
		return nil
	}
	slices.Sort(numbers)
	slices.Sort(names)
	out := make(map[int64]string, len(names))
	for i, n := range numbers {
		out[n] = strconv.FormatInt(names[i], 10)
	}
	for i, id := range d.ids { // what the entries say must agree
		if name, ok := out[id]; ok && name != d.out.Groups[i].Name {
			return nil
		}
	}
	return out
}

// groupOfNumber returns the group with a number of the process's own, whose name those of a dump tell.
func (d *decoder) groupOfNumber(number string, names map[int64]string) *comms.Group {
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		id = -1
	}
	for i := range d.out.Groups {
		if g := &d.out.Groups[i]; d.ids[i] == id && id >= 0 || d.ids[i] < 0 && g.Name == number {
			return g
		}
	}
	if name, ok := names[id]; ok && id >= 0 {
		number = name
	}
	d.out.Groups = append(d.out.Groups, comms.Group{Name: number, Rank: -1, Enqueued: -1, Completed: -1})
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
		if desc := d.intern(c[fDesc]); g.Desc == "" {
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
	for item := range d.itemsOf(v) {
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
