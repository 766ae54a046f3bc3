package csv

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/internal/natural"
	"github.com/sfstat/sfstat/trace/input"
)

var (
	// rankOnly is a rank with what else stands around one number: cuda:3, GPU3, R3, [rank3], rank 3 of 8, 3/8.
	rankOnly = regexp.MustCompile(`^[^0-9]*?(\d+)(?:\s*(?:/|of)\s*\d+)?[^0-9]*$`)
	// rankOfHost is a host and a number on it: node1/gpu2, 10.0.0.1:3.
	rankOfHost = regexp.MustCompile(`^(.*[^\s/:@_.-])[\s/:@_.-]+(?:[A-Za-z_ ]*?[:_# -]*)?(\d+)$`)
)

// numberOf returns the digits of a rank that is written with a word or with its world; text without one number is
// returned unchanged.
func numberOf(text string) string {
	if isPlain(text) {
		return text
	}
	if m := rankOnly.FindStringSubmatch(text); m != nil && !strings.HasPrefix(text, "-") && !strings.Contains(text, ".") {
		return m[1]
	}
	return text
}

// hostOf splits a rank that is written as a host and a number on it.
func hostOf(text string) (host, local string, ok bool) {
	if _, err := strconv.ParseFloat(text, 64); err == nil || rankOnly.MatchString(text) {
		return "", "", false
	}
	m := rankOfHost.FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// renumberedRows are the rows of a table whose ranks are numbered on each host, or whose steps in each epoch.
type renumberedRows struct {
	rows  [][]string
	pos   []input.Pos
	next  int
	end   error
	first input.Pos
	atEnd bool
}

// identity is which columns say the rank of a row, −1 for none.
type identity struct {
	rank, host, local, step, epoch int
	weak                           bool // the column of the rank may number the ranks of a host
}

// identityOf finds the columns that say of which step and rank a row is.
func identityOf(names []string) identity {
	at := identity{rank: -1, host: -1, local: -1, step: -1, epoch: -1}
	for i, c := range meanings(names) {
		switch {
		case c.kind == rank && at.rank < 0:
			at.rank, at.weak = i, !isSure(names, rank)
		case c.kind == attr && c.index == attrHost:
			at.host = i
		case c.kind == attr && c.index == attrLocal:
			at.local = i
		case c.kind == step && at.step < 0:
			at.step = i
		case normalName(leaf(names[i])) == "epoch":
			at.epoch = i
		}
	}
	return at
}

// isEpochStep reports whether a column numbers the steps of an epoch, by its name.
func isEpochStep(name string) bool { return strings.Contains(normalName(leaf(name)), "batch") }

// renumberRows numbers ranks that are named by host and local rank through the hosts, and steps that restart with each
// epoch through the epochs. It reads such a table whole. said describes the change, "" without one.
func renumberRows(in *sampledRows, names []string, limit int64) (out rows, header []string, said string, err error) {
	at := identityOf(names)
	cell := func(cells []string, i int) string {
		if i < 0 || i >= len(cells) {
			return ""
		}
		return strings.TrimSpace(cells[i])
	}
	hosts := at.rank < 0 && at.local >= 0 || at.rank >= 0 && at.weak && at.host >= 0
	if at.rank >= 0 && !hosts {
		hosts = len(in.sample()) > 0
		for _, cells := range in.sample() {
			if _, _, ok := hostOf(cell(cells, at.rank)); !ok {
				hosts = false
				break
			}
		}
	}
	epochs := at.step >= 0 && at.epoch >= 0 && isEpochStep(names[at.step])
	if !hosts && !epochs {
		return in, names, "", nil
	}
	r := &renumberedRows{first: in.Pos()}
	for held := int64(0); ; {
		cells, err := in.Next()
		if err != nil {
			r.end, r.atEnd = err, in.AtEnd()
			break
		}
		for _, c := range cells {
			held += int64(len(c)) + 16
		}
		if held > limit {
			return nil, nil, "", input.Bad(input.ErrTooLarge, "a table of more than %d bytes whose ranks are numbered on each host: give it a column rank", limit)
		}
		own := slices.Clone(cells)
		for i := range own {
			own[i] = strings.Clone(own[i])
		}
		r.rows, r.pos = append(r.rows, own), append(r.pos, in.Pos())
	}
	if epochs {
		r.joinEpochs(at)
	}
	header = names
	if hosts {
		header, said = r.numberRanks(at, names, cell)
	}
	return r, header, said, nil
}

// joinEpochs makes steps that begin anew with every epoch count on.
func (r *renumberedRows) joinEpochs(at identity) {
	most, first := int64(-1), int64(-1)
	number := func(cells []string, i int) int64 {
		if i >= len(cells) {
			return -1
		}
		v, err := parseWhole(numberOf(strings.TrimSpace(cells[i])))
		if err != nil {
			return -1
		}
		return v
	}
	for _, cells := range r.rows {
		most = max(most, number(cells, at.step))
		if e := number(cells, at.epoch); e >= 0 && (first < 0 || e < first) {
			first = e
		}
	}
	seen := make(map[string]bool) // step and rank
	again := false
	for _, cells := range r.rows {
		if at.step >= len(cells) || at.epoch >= len(cells) {
			return
		}
		key := cells[at.step]
		for _, i := range []int{at.rank, at.host, at.local} {
			if i >= 0 && i < len(cells) {
				key += "\x00" + cells[i]
			}
		}
		again = again || seen[key]
		seen[key] = true
	}
	if !again || most < 0 || most > maxStep/(1<<20) {
		return
	}
	for _, cells := range r.rows {
		if s, e := number(cells, at.step), number(cells, at.epoch); s >= 0 && e >= first && e-first < 1<<20 {
			cells[at.step] = strconv.FormatInt((e-first)*(most+1)+s, 10)
		}
	}
}

// mostOnHost is how many ranks a host may have for numbers between theirs to be of ranks that have no row.
const mostOnHost = 64

// numberRanks numbers the ranks of all hosts, in the order of their names, and returns the header with a column of the rank.
func (r *renumberedRows) numberRanks(at identity, names []string, cell func([]string, int) string) (header []string, said string) {
	type place struct{ host, local string }
	of := func(cells []string) place {
		text := cell(cells, at.rank)
		if at.rank < 0 {
			text = cell(cells, at.local)
		}
		if host, local, ok := hostOf(text); ok && at.host < 0 {
			return place{host, local}
		}
		return place{cell(cells, at.host), numberOf(text)}
	}
	var places []place
	hostsOf := make(map[string][]string) // hosts, by the number on them
	seen := make(map[place]bool)
	for _, cells := range r.rows {
		p := of(cells)
		if seen[p] {
			continue
		}
		seen[p] = true
		places = append(places, p)
		hostsOf[p.local] = append(hostsOf[p.local], p.host)
	}
	repeated := false
	for _, hosts := range hostsOf {
		repeated = repeated || len(hosts) > 1
	}
	if !repeated { // they count through the hosts already
		if at.rank >= 0 && at.host >= 0 {
			return names, ""
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(natural.Compare(a.host, b.host), natural.Compare(a.local, b.local))
	})
	number := make(map[place]int)
	var hosts []string
	next, first, low := 0, 0, 0 // ranks, and the number on the host that the first of its ranks has
	for _, p := range places {
		local, err := strconv.Atoi(p.local)
		if len(hosts) == 0 || hosts[len(hosts)-1] != p.host {
			hosts = append(hosts, p.host)
			first, low = next, local
		}
		if number[p] = next; err == nil && local-low < mostOnHost {
			number[p] = max(next, first+local-low) // a number that is left out is of a rank without a row
		}
		next = number[p] + 1
	}
	header = slices.Clone(names)
	added := []string{"rank"}
	if at.rank >= 0 {
		header[at.rank], added = "rank", nil
	}
	if at.host < 0 {
		added = append(added, "host")
	}
	if at.local < 0 {
		added = append(added, "local_rank")
	}
	header = append(header, added...)
	for i, cells := range r.rows {
		if len(cells) != len(names) {
			continue // refused where it is read
		}
		p := of(cells)
		if at.rank >= 0 {
			cells[at.rank] = strconv.Itoa(number[p])
		} else {
			cells = append(cells, strconv.Itoa(number[p]))
		}
		if at.local >= 0 {
			cells[at.local] = p.local
		}
		if at.host < 0 {
			cells = append(cells, p.host)
		}
		if at.local < 0 {
			cells = append(cells, p.local)
		}
		r.rows[i] = cells
	}
	if len(hosts) < 2 {
		return header, ""
	}
	return header, fmt.Sprintf("ranks are numbered through the hosts, in the order of their names: %s, from 0 to %d", strings.Join(quoteNames(hosts[:min(len(hosts), 8)]), ", "), len(places)-1)
}

func (r *renumberedRows) Header() ([]string, error) { return nil, r.end }

func (r *renumberedRows) Next() ([]string, error) {
	if r.next == len(r.rows) {
		return nil, r.end
	}
	r.next++
	return r.rows[r.next-1], nil
}

func (r *renumberedRows) Pos() input.Pos {
	if r.next == 0 {
		return r.first
	}
	return r.pos[r.next-1]
}

func (r *renumberedRows) AtEnd() bool { return r.next == len(r.rows) && r.atEnd }
