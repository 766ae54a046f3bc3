package flightrecorder

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// ranked finds the last number of a file's name, and what stands before it.
var ranked = regexp.MustCompile(`^(.*?)(?:[_.-]?(?:rank|ranks|trace|dump|fr)[_.-]?)?(\d+)$`)

// address finds an IP address in a name, and port what is left of a name that is an address with a port.
var (
	address = regexp.MustCompile(`(?:^|[^0-9.])((?:\d{1,3}\.){3}\d{1,3})(?:$|[^0-9.]|\.[^0-9])`)
	port    = regexp.MustCompile(`^[_:-]\d{4,5}(?:$|\.)`)
)

// writer are the words that stand in names because of what wrote them, and
// name no host.
var writer = regexp.MustCompile(`(?i)^(?:nccl|comm|lib|fr|gloo|xccl|rccl|flight|recorder|trace|traces|dump|dumps|rank|debug|info|torch|pg|world|global|job|run|tmp|pt)$`)

// RankOf returns the rank in a file's name, −1 where there is none, and the host,
// "" where there is none. pattern nil knows fr_trace_3, comm_lib_trace_rank_3,
// nccl_trace_rank_3, _dump_3, rank_3, node7_rank3 and the like, whatever ends
// them in .json, .pkl, .gz.
func RankOf(name string, pattern *regexp.Regexp) (rank int, host string) {
	name = filepath.Base(name)
	if pattern != nil {
		return rankFromGroups(name, pattern)
	}
	ip := ""
	if at := address.FindStringSubmatchIndex(name); at != nil { // neither a rank nor half a host
		ip = name[at[2]:at[3]]
		if name = name[:at[2]] + name[at[3]:]; port.MatchString(name) || !strings.ContainsAny(name, "0123456789") {
			return -1, ip
		}
	}
	for cut := true; cut; {
		ext := filepath.Ext(name)
		_, err := strconv.Atoi(strings.TrimPrefix(ext, "."))
		if cut = len(ext) > 1 && err != nil && !strings.Contains(ext, "rank"); cut {
			name = strings.TrimSuffix(name, ext)
		}
	}
	m := ranked.FindStringSubmatch(name)
	if m == nil {
		return -1, ip
	}
	rank, err := strconv.Atoi(m[2])
	if err != nil || rank > 1<<24 {
		return -1, ip
	}
	return rank, cmp.Or(ip, hostIn(m[1]))
}

// hostIn returns what is left of a name without the words of its writer.
func hostIn(before string) string {
	isSeparator := func(r rune) bool { return r == '_' || r == '.' }
	parts := strings.FieldsFunc(before, isSeparator)
	for len(parts) > 0 && writer.MatchString(parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	for len(parts) > 0 && writer.MatchString(parts[0]) {
		parts = parts[1:]
	}
	if len(parts) == 0 {
		return ""
	}
	from := strings.Index(before, parts[0])
	last := parts[len(parts)-1]
	host := before[from : strings.LastIndex(before, last)+len(last)]
	if !strings.ContainsAny(host, "0123456789") {
		return "" // the name of a job, as likely
	}
	return host
}

// rankFromGroups takes rank and host from the groups of a pattern.
func rankFromGroups(name string, pattern *regexp.Regexp) (rank int, host string) {
	m := pattern.FindStringSubmatch(name)
	if len(m) < 2 {
		return -1, ""
	}
	at := 1
	if i := pattern.SubexpIndex("rank"); i > 0 {
		at = i
	}
	if i := pattern.SubexpIndex("host"); i > 0 {
		host = m[i]
	}
	rank, err := strconv.Atoi(m[at])
	if err != nil || rank < 0 || rank > 1<<24 {
		return -1, host
	}
	return rank, host
}
