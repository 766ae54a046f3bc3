package diagnose

import (
	"cmp"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/monitoring"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/health"
)

// What monitoring recorded stands beside a finding, joined by host and time. It is
// added when the suspects are ranked and their confidence is decided, and changes
// neither; it decides what to look at first.

// hostMonitoring is what monitoring recorded of the hosts and devices of a run.
type hostMonitoring struct {
	job    monitoring.Job
	units  []monitoring.Unit // of the run
	ranks  map[int][]monitoring.Unit
	hosts  map[string]*watchedHost // by hostKey
	events []health.Event          // of hosts of the run, their Device told where it is known
	from   int64                   // of the readings with a time; 0: none
	to     int64
}

// watchedHost is a host of a run.
type watchedHost struct {
	name     string // as the run has it
	word     *regexp.Regexp
	zoneless bool // a file about it has stamps without a zone
}

// hostKey returns the part that two names of one host share: the first part, or the whole of an address.
func hostKey(name string) string {
	if _, err := netip.ParseAddr(name); err == nil {
		return name
	}
	first, _, _ := strings.Cut(name, ".")
	return strings.ToLower(first)
}

// hostInPath returns the host of the run that the path of a file names, as a word; the longest of several, in the last part
// that names one; else the only host , or "".
func (w *hostMonitoring) hostInPath(path string) string {
	parts := strings.FieldsFunc(strings.ToLower(path), func(r rune) bool { return r == '/' || r == '\\' })
	for _, part := range slices.Backward(parts) {
		best := ""
		for key, h := range w.hosts {
			if (len(key) > len(best) || len(key) == len(best) && key < best) && h.word.MatchString(part) {
				best = key
			}
		}
		if best != "" {
			return best
		}
	}
	for key := range w.hosts {
		if len(w.hosts) == 1 {
			return key
		}
	}
	return ""
}

// hostedRank is a rank on its host.
type hostedRank struct {
	host  string
	local int // −1: not known
}

// watch puts together what was recorded of the hosts of a run; nil where it is
// nothing, with what could not be joined as problems.
func (r *run) watch(all []*health.Record) (*hostMonitoring, []answer.Problem) {
	w := &hostMonitoring{ranks: make(map[int][]monitoring.Unit), hosts: make(map[string]*watchedHost)}
	for _, on := range r.places {
		if key := hostKey(on.host); on.host != "" && len(all) > 0 && w.hosts[key] == nil {
			w.hosts[key] = &watchedHost{name: on.host, word: regexp.MustCompile("(^|[^a-z0-9])" + regexp.QuoteMeta(key) + "([^a-z0-9]|$)")}
		}
	}
	if len(w.hosts) == 0 {
		return nil, nil
	}
	w.place(r.places, all)
	var problems []answer.Problem
	read := false
	for _, t := range all {
		switch {
		case w.add(t):
			read = true
		case lacksHost(t) && problems == nil:
			problems = []answer.Problem{{Problem: answer.MonitoringHost, Path: t.Path, N: 1}}
		case lacksHost(t):
			problems[0].N++
		}
	}
	if p, outside := w.isOutsideRun(r.times(nil)); outside {
		problems = append(problems, p)
	}
	if !read {
		return nil, problems
	}
	return w, problems
}

// lacksHost reports whether a file names no host for what it recorded.
func lacksHost(t *health.Record) bool {
	return slices.ContainsFunc(t.Series, func(s health.Series) bool { return s.Host == "" }) ||
		slices.ContainsFunc(t.Events, func(e health.Event) bool { return e.Host == "" })
}

// place gives ranks their host and device: that of their local rank, or where that is not
// known all that were recorded of their host.
func (w *hostMonitoring) place(places map[int]hostedRank, all []*health.Record) {
	have := make(map[monitoring.Unit]bool)
	for rank, on := range places {
		if on.host == "" {
			continue
		}
		key := hostKey(on.host)
		units := []monitoring.Unit{{Host: key, Device: -1}}
		if on.local >= 0 {
			units = append(units, monitoring.Unit{Host: key, Device: on.local})
		} else {
			for _, t := range all {
				for i := range t.Series {
					if s := &t.Series[i]; s.Device >= 0 && w.hostOf(s.Host, t.Path) == key {
						units = append(units, monitoring.Unit{Host: key, Device: s.Device})
					}
				}
			}
		}
		w.ranks[rank] = units
		for _, u := range units {
			have[u] = true
		}
	}
	w.units = slices.SortedFunc(maps.Keys(have), func(a, b monitoring.Unit) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device))
	})
}

// hostOf returns the key of the host of a name, or else of the file's path. "": no host of the run.
func (w *hostMonitoring) hostOf(name, path string) string {
	key := hostKey(name)
	if name == "" {
		key = w.hostInPath(path)
	}
	if w.hosts[key] == nil {
		return ""
	}
	return key
}

// add adds what a file has of hosts of the run; it reports whether there is some.
func (w *hostMonitoring) add(t *health.Record) (any bool) {
	see := func(name string) string {
		key := w.hostOf(name, t.Path)
		if key != "" {
			any = true
			w.hosts[key].zoneless = w.hosts[key].zoneless || t.Zoneless
		}
		return key
	}
	for i := range t.Series {
		s := &t.Series[i]
		key := see(s.Host)
		if key == "" {
			continue
		}
		w.job.Add(monitoring.Unit{Host: key, Device: s.Device}, s)
		for _, r := range s.Readings {
			if r.At > 0 && (w.from == 0 || r.At < w.from) {
				w.from = r.At
			}
			w.to = max(w.to, r.At)
		}
	}
	for _, e := range t.Events {
		if e.Host = see(e.Host); e.Host != "" {
			w.events = append(w.events, e)
		}
	}
	return any
}

// tellDevices gives events the device that is at their address.
func (w *hostMonitoring) tellDevices(all []*health.Record) {
	for _, t := range all {
		for _, b := range t.Buses {
			for i := range w.events {
				if e := &w.events[i]; e.Bus != 0 && e.Bus == b.Bus && e.Device < 0 && e.Host == w.hostOf(b.Host, t.Path) {
					e.Device = b.Device
				}
			}
		}
	}
}

// isOutsideRun reports whether all readings lie outside of the run, as those in another time zone do.
func (w *hostMonitoring) isOutsideRun(times []monitoring.Interval) (answer.Problem, bool) {
	if times == nil || w.from == 0 {
		return answer.Problem{}, false
	}
	from, to := times[0].From, slices.MaxFunc(times, func(a, b monitoring.Interval) int { return cmp.Compare(a.To, b.To) }).To
	if w.to+monitoring.MaxReach >= from && w.from-monitoring.MaxReach <= to {
		return answer.Problem{}, false
	}
	p := answer.Problem{Problem: answer.MonitoringTime, Times: &[4]int64{w.from, w.to, from, to}}
	for _, h := range w.hosts {
		if h.zoneless {
			p.Problem = answer.MonitoringZone
		}
	}
	return p, true
}

// mostMonitored is how many differences are listed of a finding.
const mostMonitored = 3

// monitored is what monitoring and other tools recorded beside a run: it changes no claim, and decides what to look at
// first.
type monitored struct {
	shown    map[int][]evidence.Observation // by claim: what was so at its time
	alike    map[int]*evidence.Monitored    // by claim: what was compared and alike
	observed []evidence.Observation         // of the run
	problems []answer.Problem
	first    func(next []answer.Action) []answer.Action // what to look at first
}

// observeMonitoring returns what was so at the time of each claim. By then status and confidence are decided.
func (j *judge) observeMonitoring(all []*health.Record, status answer.Status, claims []Finding) monitored {
	m := monitored{shown: map[int][]evidence.Observation{}, alike: map[int]*evidence.Monitored{}, first: func(next []answer.Action) []answer.Action { return next }}
	all = m.conclude(claims, all)
	w, problems := j.watch(all)
	if m.problems = problems; w == nil {
		return m
	}
	w.tellDevices(all)
	for i := range claims {
		f := &claims[i]
		if f.Cause == CauseOperator || f.BelowMinGain && i > 0 {
			continue
		}
		units := w.suspectedUnits(f)
		if len(units) == 0 {
			continue
		}
		seen, alike := w.observe(units, j.times(f.Windows), f.Step)
		m.shown[i], m.alike[i] = append(m.shown[i], seen...), alike
		if i == 0 && status > answer.Unseen {
			m.first = func(next []answer.Action) []answer.Action { return lookFirst(next, f, seen, alike) }
		}
	}
	if len(claims) == 0 || status <= answer.UndecidedRun {
		seen, _ := w.observe(w.units, j.times(nil), 0)
		m.observed = append(m.observed, seen...)
		if before := m.first; status == answer.Unseen || status == answer.UndecidedRun {
			m.first = func(next []answer.Action) []answer.Action { return lookFirst(before(next), nil, seen, nil) }
		}
	}
	return m
}

// conclude takes what other tools conclude of ranks as evidence of the first claim on these, and the rest as
// observations of the run. It returns the other recordings.
func (m *monitored) conclude(claims []Finding, all []*health.Record) (others []*health.Record) {
	for _, t := range all {
		if len(t.Events) == 0 || t.Events[0].Kind != health.ToolReport {
			others = append(others, t)
			continue
		}
		for _, e := range t.Events {
			says := evidence.Reported{Event: e.Kind.String(), Host: e.Host, N: 1, Text: e.Text}
			if at := slices.IndexFunc(claims, func(f Finding) bool { return f.concerns(e.Ranks) }); at >= 0 {
				m.shown[at] = append(m.shown[at], says)
			} else {
				m.observed = append(m.observed, says)
			}
		}
	}
	return others
}

// addTo returns the claims with what was so at their time, before what a higher confidence lacks.
func (m *monitored) addTo(claims []Finding) []Finding {
	out := slices.Clone(claims)
	for i := range out {
		out[i].Evidence = insertBeside(out[i].Evidence, m.shown[i], m.alike[i])
	}
	return out
}

// concerns reports whether a finding is of one of some ranks.
func (f *Finding) concerns(ranks []int) bool {
	return f.Rank != nil && slices.Contains(ranks, *f.Rank) || slices.ContainsFunc(f.Ranks, func(r int) bool { return slices.Contains(ranks, r) })
}

// suspectedUnits returns the units of the ranks of a finding.
func (w *hostMonitoring) suspectedUnits(f *Finding) (units []monitoring.Unit) {
	ranks := f.Ranks
	if f.Rank != nil {
		ranks = append([]int{*f.Rank}, f.Ranks...)
	}
	for _, r := range ranks {
		for _, u := range w.ranks[r] {
			if !slices.Contains(units, u) {
				units = append(units, u)
			}
		}
	}
	return units
}

// times returns when windows were recorded, given by their numbers, nil: all; without windows, when calls were entered. nil
// where times are not known.
func (r *run) times(of []int64) (times []monitoring.Interval) {
	for i, b := range r.books {
		if len(of) == 0 || slices.Contains(of, r.windows[i].Main.Window) {
			times = append(times, b.times)
		}
	}
	if len(r.books) == 0 {
		times = slices.Clone(r.called)
	}
	times = slices.DeleteFunc(times, func(t monitoring.Interval) bool { return t.From == 0 })
	if len(times) == 0 {
		return nil
	}
	slices.SortFunc(times, func(a, b monitoring.Interval) int { return cmp.Compare(a.From, b.From) })
	return times
}

// observe returns what was reported and measured of some units in some times, in which a step took so many nanoseconds (0: not
// known), and else what was compared and alike.
func (w *hostMonitoring) observe(units []monitoring.Unit, times []monitoring.Interval, step int64) (out []evidence.Observation, alike *evidence.Monitored) {
	for _, e := range w.eventsIn(units, times) {
		out = append(out, e)
	}
	differences, compared := w.job.Differences(monitoring.Question{Units: units, Peers: w.units, Times: times})
	for _, d := range differences[:min(mostMonitored, len(differences))] {
		out = append(out, w.evidenceOf(&d, step))
	}
	if len(differences) == 0 && len(compared) > 0 {
		alike = &evidence.Monitored{Host: w.hosts[units[0].Host].name}
		ofHost := false
		for _, c := range compared {
			if name := c.Quantity.String(); !slices.Contains(alike.Alike, name) {
				alike.Alike = append(alike.Alike, name)
			}
			alike.N, alike.Timeless, ofHost = max(alike.N, c.N), alike.Timeless || c.Timeless, ofHost || c.Device < 0
		}
		if len(units) == 2 && units[1].Device >= 0 && !ofHost {
			alike.Device = &units[1].Device
		}
	}
	return out, alike
}

func (w *hostMonitoring) evidenceOf(d *monitoring.Difference, step int64) evidence.Monitored {
	e := evidence.Monitored{Quantity: d.Quantity.String(), Unit: d.Quantity.Unit(), Host: w.hosts[d.Host].name,
		Own: d.Own, Peers: d.Median, Low: d.Low, High: d.High, N: d.N, Readings: d.Readings, Tested: d.Tested, P: d.P, Tests: d.Tests, Timeless: d.Timeless, Zoneless: w.hosts[d.Host].zoneless}
	if d.Device >= 0 {
		e.Device = &d.Device
	}
	if d.Quantity.SlowdownTime() {
		e.Step, e.Slowed = step, int64(d.Own*float64(step))
	}
	return e
}

// eventsIn returns the events of some units in some times, by kind and device; those of
// another device of the host are not theirs.
func (w *hostMonitoring) eventsIn(units []monitoring.Unit, times []monitoring.Interval) (out []evidence.Reported) {
	for _, e := range w.events {
		if !slices.ContainsFunc(units, func(u monitoring.Unit) bool { return u.Host == e.Host && (u.Device == e.Device || e.Device < 0) }) || !happenedIn(times, e.At) {
			continue
		}
		i := slices.IndexFunc(out, func(have evidence.Reported) bool {
			return have.Event == e.Kind.String() && have.Code == e.Code && hostKey(have.Host) == e.Host && (have.Device == nil) == (e.Device < 0) && (have.Device == nil || *have.Device == e.Device)
		})
		if i < 0 {
			i = len(out)
			out = append(out, evidence.Reported{Event: e.Kind.String(), Code: e.Code, Host: w.hosts[e.Host].name, At: e.At, Text: e.Text,
				Timeless: times == nil, Zoneless: w.hosts[e.Host].zoneless})
			if device := e.Device; device >= 0 {
				out[i].Device = &device
			}
		}
		out[i].N++
	}
	return out[:min(mostMonitored, len(out))]
}

// happenedIn reports whether something happened in some times or within reach of them; of
// what has no time, and where none is known, it may have.
func happenedIn(times []monitoring.Interval, at int64) bool {
	return at == 0 || times == nil || slices.ContainsFunc(times, func(t monitoring.Interval) bool {
		return at >= t.From-monitoring.MaxReach && at <= t.To+monitoring.MaxReach
	})
}

// insertBeside puts what was so at the time behind what speaks for a finding, before what
// a higher confidence lacks.
func insertBeside(list, beside []evidence.Observation, alike *evidence.Monitored) []evidence.Observation {
	if alike != nil {
		beside = append(beside, *alike)
	}
	at := slices.IndexFunc(list, func(e evidence.Observation) bool { _, lack := e.(evidence.Lack); return lack })
	if at < 0 {
		at = len(list)
	}
	return slices.Insert(slices.Clone(list), at, beside...)
}

// lookFirst puts what monitoring shows before the other actions, behind the first where it is a report without a date;
// to compare clocks and throttle reasons is done then.
func lookFirst(next []answer.Action, f *Finding, beside []evidence.Observation, alike *evidence.Monitored) []answer.Action {
	compared := alike != nil && slices.Contains(alike.Alike, health.SMClock.String())
	if len(beside) > 0 || compared && len(next) > 1 {
		next = slices.DeleteFunc(slices.Clone(next), func(a answer.Action) bool { return a.Action == answer.InspectHost })
	}
	if len(beside) == 0 {
		return next
	}
	a := answer.Action{Action: answer.CheckMonitored}
	if f != nil && f.Rank != nil {
		a.Ranks = []int{*f.Rank}
	}
	at := 0
	switch e := beside[0].(type) {
	case evidence.Monitored:
		a.Host, a.Monitored = e.Host, &e
	case evidence.Reported:
		a.Host, a.Reported = e.Host, &e
		if e.At == 0 {
			at = 1
		}
	}
	return slices.Insert(slices.Clone(next), min(at, len(next)), a)
}

// timesOfWindow returns when a window was recorded; zero where it is not known.
func timesOfWindow(w *trace.Window) (t monitoring.Interval) {
	R, S := len(w.Ranks), len(w.Schema.Stages)
	for r, epoch := range w.Epochs {
		if epoch <= 0 {
			continue
		}
		end := epoch
		for step := range w.Steps() {
			if w.Wall != nil {
				end += w.Wall[step*R+r]
				continue
			}
			for s := range S {
				end += w.Durations[(step*S+s)*R+r]
			}
		}
		if t.From == 0 || epoch < t.From {
			t.From = epoch
		}
		t.To = max(t.To, end)
	}
	return t
}

// seeRank notes where a rank runs.
func (r *run) seeRank(id int, host string, local int) {
	if r.places == nil {
		r.places = make(map[int]hostedRank)
	}
	if host != "" {
		r.places[id] = hostedRank{host, local}
	}
}

// seeProcesses notes where the processes run that entered calls, and when, where no
// window tells.
func (r *run) seeProcesses(c *comms.Record) {
	var t monitoring.Interval
	for _, p := range c.Processes {
		if p.Rank >= 0 {
			if _, known := r.places[p.Rank]; !known {
				r.seeRank(p.Rank, p.Host, p.LocalRank)
			}
		}
	}
	for i := range c.Calls {
		if at := c.Calls[i].Enter; c.Calls[i].HasEnter && at > sinceEpoch {
			if t.From == 0 || at < t.From {
				t.From = at
			}
			t.To = max(t.To, at)
		}
	}
	if len(r.windows) == 0 && t.From > 0 {
		r.called = append(r.called, t)
	}
}

// sinceEpoch is a time of 2001: what is smaller counts from something else than 1970.
const sinceEpoch = 1e18
