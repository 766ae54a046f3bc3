package report

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// sentenceFunctions are what the sentences may ask for beside the fields of their values.
var sentenceFunctions template.FuncMap

func init() { // as it says sentences itself
	sentenceFunctions = template.FuncMap{
		// Numbers with their units.
		"length": of(length), "about": of(about), "exact": of(percentOf), "percent": of(table.Percent), "times": of(table.Times),
		"number": of(table.Number), "hundredths": func(x any) string { return table.Decimals(real(x), 2) }, "p": of(pValue), "probability": of(probability), "rate": of(rate),
		"finite": of(table.Finite), "bytes": binaryBytes, "ordinal": ordinal, "clock": clockWord, "instant": instant, "measured": withUnit,
		"fine": of(table.FinePercent), "signed": of(signedLength), "plain": of(gigabytes), "day": dayOf,
		"decimals": func(n int, x any) string { return table.Decimals(real(x), n) },
		"rounded":  func(x any) int { return int(real(x) + 0.5) },
		"mostly":   func(ns int64) int64 { return ns * 5 / 4 },
		"grouped":  func(n any) string { return table.Grouped(int64(real(n))) },
		"count":    func(n any, noun string) string { return table.Counted(int(real(n)), noun) },
		"countIs":  func(n int, noun string) string { return table.Counted(n, noun) + " " + isAre(n) },
		"isAre":    isAre,
		// Arithmetic.
		"add": add, "sub": sub,
		"product":  func(a, b int) int { return a * b },
		"distance": func(a, b any) float64 { return math.Abs(real(a) - real(b)) },
		"div":      func(a, b any) float64 { return real(a) / real(b) },
		"share":    func(a, b any) float64 { return real(a) / max(1, real(b)) },
		"least":    func(a, b float64) float64 { return min(math.Abs(a), math.Abs(b)) },
		"greatest": func(a, b float64) float64 { return max(math.Abs(a), math.Abs(b)) },
		// Names and lists of them.
		"stage": stageWord, "bare": bareStage, "stages": stagesWord, "process": theStage, "steps": stepsWord, "group": groupWord,
		"label": opnames.Label, "line": sourceWord, "ranks": ranksWord, "rankList": rankList, "ranges": trace.RankList, "rankAt": rankAt,
		"itsSteps": itsSteps, "stepRange": stepRange,
		"some": someOf, "callOf": callOf, "bareOp": bareOp, "groupName": groupName, "entered": entered, "missing": missingWords,
		"side": side, "measure": measureName, "visible": glyph.Visible, "upper": upper,
		"andStages": func(stages []string) string { return andList(each(stages, stageWord)) },
		"firstOf":   func(n int, list []string) string { return strings.Join(list[:min(n, len(list))], ", ") },
		"lower":     func(s string) string { return strings.ToLower(s[:1]) + s[1:] },
		"unstopped": func(s string) string { return strings.TrimRight(glyph.Visible(s), ".") },
		"noun":      func(workers any) string { return nounOf(!reflect.ValueOf(workers).IsZero()) },
		"is":        is,
		"spaced":    spaced,
		"say":       say,
		// Evidence, findings and what else answers hold.
		"evidence": evidenceWords, "lack": lackWords, "find": find, "short": shortEvidence, "witness": witnessOf, "subject": subject,
		"several":    several,
		"entersLast": entersLast, "suspected": alsoSuspected, "losesIn": losesIn, "blind": blindTo, "reasons": reasons, "link": linkName,
		"paired": pairedWords, "sets": setsWords, "someLines": someLines, "mostUsed": mostUsed,
		"participants": participants, "turnOn": turnOn,
		"leastFound":  leastFound,
		"lostInNoise": lostInNoise,
		"howMuch":     func(f *diagnose.Finding) string { return say("how much", f) },
		"workerAt":    workerName,
		"worker":      func(f *diagnose.Finding) string { return workerName(*f.Rank, f.Role, f.StandsFor) },
		"first":       func(n int, list []*diagnose.Finding) []*diagnose.Finding { return list[:min(n, len(list))] },
		"links":       func(list []evidence.Subject) string { return listed(each(list, linkName), "or") },
		// Monitoring.
		"probe":      func(channel string) string { return strings.TrimSuffix(channel, trace.ProbeSuffix) },
		"quantities": func(names []string) string { return andList(each(names, quantityName)) },
		"did":        func(name string) string { return cmp.Or(say("did "+name, nil), "had a "+glyph.Visible(name)+" of") },
		"check":      func(name string) string { return say("check "+name, nil) },
		"event":      func(name string) string { return cmp.Or(say("event "+name, nil), glyph.Visible(name)) },
	}
}

// of is a function of any number, or of what points to one.
func of[T any](f func(float64) T) func(any) T {
	return func(x any) T { return f(real(x)) }
}

// real is any number, or what points to one.
func real(x any) float64 {
	v := reflect.Indirect(reflect.ValueOf(x))
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

func add(a, b any) int64 { return int64(real(a)) + int64(real(b)) }

// sub is a whole number where both are.
func sub(a, b any) any {
	if reflect.ValueOf(a).CanInt() && reflect.ValueOf(b).CanInt() {
		return int64(real(a)) - int64(real(b))
	}
	return real(a) - real(b)
}

// is reports whether a value, or what it points to, is written as one of those.
func is(x any, among ...any) bool {
	text := func(x any) string {
		if v := reflect.Indirect(reflect.ValueOf(x)); v.IsValid() {
			return fmt.Sprint(v.Interface())
		}
		return ""
	}
	return slices.ContainsFunc(among, func(name any) bool { return text(name) == text(x) })
}

// find is the first evidence of a kind, nil without any.
func find(list []evidence.Observation, kind evidence.Kind) any {
	i := slices.IndexFunc(list, func(e evidence.Observation) bool { return e.Kind() == kind })
	if i < 0 {
		return nil
	}
	return list[i]
}

// witnessOf is what a recording says of a finding, nil where it was not asked.
func witnessOf(list []evidence.Observation, source evidence.Source) any {
	if e, ok := evidence.WitnessOf(list, source); ok {
		return e
	}
	return nil
}

// entersLast is how often a rank enters collectives last by calls and kernels.
func entersLast(f *diagnose.Finding) evidence.LastToEnter {
	e, _ := evidence.EntersLast(f.Evidence, evidence.FromNCCL)
	return e
}

// losesIn is the stage in which a group loses what a slow link costs; "" where that is not known.
func losesIn(v *diagnose.RunVerdict) string {
	for _, f := range v.Findings[1:] {
		if e, victim := evidence.Find[evidence.SlowLink](f.Evidence); victim && e.Elsewhere && f.Rank == nil && f.Stage != "" {
			return f.Stage
		}
	}
	return ""
}

// alsoSuspected names findings of communication, each once.
func alsoSuspected(list []*diagnose.Finding) string {
	var names []string
	for _, f := range list {
		if name := say("suspected", f); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// stagesWord is "data, forward or backward", or how many stages they are.
func stagesWord(stages []string) string {
	const most = 5
	if len(stages) > most {
		return fmt.Sprintf("%d stages", len(stages))
	}
	return listed(each(stages, bareStage), "or")
}

// blindTo returns what a recording does not show, and how large a delay may hide there.
func blindTo(h *diagnose.Healthy) string {
	var hidden, drowned, alone, text []string
	noise, hides, single := int64(0), int64(0), int64(0)
	for _, c := range h.Blind {
		switch c.Reason {
		case answer.NoMeeting:
			return "This recording does not show where the ranks wait for each other, so a late one cannot be told from the others."
		case answer.TooCoarse:
			return "The times are too coarse to show where the ranks wait for each other, so a late one cannot be told from the others."
		case answer.RanksUnknown:
			if c.Stage == "" {
				return fmt.Sprintf("In %s of the run not all ranks were recorded, and the others may have waited for one that was not.", about(float64(c.Hides)/float64(max(1, h.Step))))
			}
			hidden, hides = append(hidden, stageWord(c.Stage)), hides+c.Hides
		case answer.NoPeers:
			alone, single = append(alone, c.Stage), max(single, c.Hides)
		case answer.Spread:
			text = append(text, fmt.Sprintf("Over all stages together one rank is up to %s of a %s step behind, in none of them for certain.", length(float64(c.Hides)), length(float64(h.Step))))
		case answer.Uneven:
			text = append(text, fmt.Sprintf("In %s other ranks take %s longer than the fastest one, by design or not.", stageWord(c.Stage), length(float64(c.Hides))))
		case answer.NotRecorded:
			text = append(text, fmt.Sprintf("A rank enters up to %s later than its stages say: that time is in no stage.", length(float64(c.Hides))))
		case answer.TooNoisy:
			drowned, noise = append(drowned, stageWord(c.Stage)), noise+c.Hides
		default:
			hidden, hides = append(hidden, stageWord(c.Stage)), hides+c.Hides
		}
	}
	if len(hidden) > 0 {
		of := ""
		if len(h.Stages) == 0 && h.Step > 0 {
			of = fmt.Sprintf(" of a %s step", length(float64(h.Step)))
		}
		text = append(text, fmt.Sprintf("This recording cannot see into %s: a rank may lose up to %s%s there unseen.", fewOf(hidden), length(float64(hides)), of))
	}
	if len(alone) > 0 {
		text = append(text, fmt.Sprintf("No two ranks do the same work in %s: one may lose up to %s of a %s step there unseen.", fewOf(alone), length(float64(single)), length(float64(h.Step))))
	}
	if len(drowned) > 0 {
		text = append(text, fmt.Sprintf("In %s what one rank takes longer than its peers costs up to %s of a %s step; no delay there is certain.", fewOf(drowned), length(float64(noise)), length(float64(h.Step))))
	}
	return strings.Join(text, " ")
}

// leastFound returns the least delay that is found wherever in a step it is, ns a step; 0 where any place is not seen.
func leastFound(coverage []answer.Coverage) (least int64) {
	for _, c := range coverage {
		if !c.Seen {
			return 0
		}
		least = max(least, c.Least)
	}
	return least
}

// lostInNoise returns how much of a step may be a delay that does not stand out of the noise, ns.
func lostInNoise(coverage []answer.Coverage) (sum int64) {
	for _, c := range coverage {
		if c.Reason == answer.TooNoisy {
			sum += c.Hides
		}
	}
	return sum
}

// reasons returns the place that hides most of each reason why places are not seen, the largest first.
func reasons(blind []answer.Coverage) (out []answer.Coverage) {
	for _, c := range blind {
		if !slices.ContainsFunc(out, func(have answer.Coverage) bool { return have.Reason == c.Reason }) {
			out = append(out, c)
		}
	}
	return out
}

// fewOf returns stages as a list, or how many they are.
func fewOf(stages []string) string {
	if len(stages) > mostNamed {
		return fmt.Sprintf("%d stages", len(stages))
	}
	return orList(stages)
}

// theStage is what to look at of stages.
func theStage(stages []string) string {
	switch stagename.KindOf(stages[0]) {
	case stagename.Callbacks:
		return "the callback"
	case stagename.Data:
		return "the data loader"
	}
	return stageWord(stages[0])
}

// participants are ranks of an action, or the workers that they name.
func participants(a answer.Action, ranks []int) string {
	if len(a.Workers) == 0 {
		return ranksWord(ranks)
	}
	word := "workers "
	if len(ranks) == 1 {
		word = "worker "
	}
	return word + andList(each(ranks, func(rank int) string {
		i := slices.IndexFunc(a.Workers, func(w answer.Worker) bool { return w.Worker == rank })
		if i < 0 {
			return fmt.Sprint(rank)
		}
		return fmt.Sprintf("%d (%s)", rank, standsFor(a.Workers[i].StandsFor))
	}))
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// groupWord is a group by its description, or "group 2" where it has but a number.
func groupWord(name string) string {
	if strings.Trim(name, "0123456789") == "" {
		return "group " + name
	}
	return name
}

// bareOp is an operation without its library.
func bareOp(op string) string {
	_, bare, ok := strings.Cut(op, ":")
	if !ok {
		return op
	}
	return bare
}

// callOf is a call with what it differs in.
func callOf(op, sizes, types, difference string) string {
	switch difference {
	case "sizes", "input_and_output", "totals":
		return op + " of " + sizes
	case "types":
		return op + " of " + types
	}
	return op
}

// sourceWord is a line as people write it: "train.py:66 (backward)".
func sourceWord(line any) string {
	s, ok := line.(*evidence.SourceLine)
	if !ok {
		here := line.(evidence.SourceLine)
		s = &here
	}
	if s.Call == "" {
		return s.Short()
	}
	return fmt.Sprintf("%s (%s)", s.Short(), s.Call)
}

// linkName names a link or communicator: "the link between ranks 1 and 5 (node0 and node1)".
func linkName(s evidence.Subject) string {
	hosts := strings.Join(s.Hosts, ", ")
	if len(s.Hosts) > 4 {
		hosts = fmt.Sprintf("%d hosts", len(s.Hosts))
	}
	return say("subject "+cmp.Or(string(s.Scope), "communicator"), struct {
		evidence.Subject
		Names, Both string
	}{s, hosts, strings.Join(s.Hosts, " and ")})
}

// rate writes bytes per nanosecond.
func rate(f float64) string {
	switch {
	case !table.Finite(f):
		return table.Absent + " GB/s"
	case f >= 100:
		return fmt.Sprintf("%.0f GB/s", f)
	}
	return fmt.Sprintf("%.3g GB/s", f)
}

// binaryBytes writes a size class: "32 MiB".
func binaryBytes(n int64) string { return binarySize(max(0, bits.Len64(uint64(n))-1)) }

// clockWord is a time of day, dayOf its day, instant both.
func clockWord(at int64) string { return time.Unix(0, at).UTC().Format("15:04:05 UTC") }
func dayOf(at int64) string     { return time.Unix(0, at).UTC().Format("2 January 2006") }
func instant(at int64) string   { return time.Unix(0, at).UTC().Format(time.DateTime) }

// quantityName is what people call a quantity of monitoring.
func quantityName(name string) string { return cmp.Or(say("quantity "+name, nil), glyph.Visible(name)) }

// withUnit is a value with its unit.
func withUnit(x float64, unit string) string {
	switch unit {
	case "fraction":
		return about(x)
	case "1/s":
		if x > 0 && x < 0.1 {
			return plainNumber(60*x) + " a minute"
		}
		return plainNumber(x) + " a second"
	case "tasks/CPU":
		return plainNumber(x)
	}
	return plainNumber(x) + " " + unit
}

// plainNumber has three digits or all before the point.
func plainNumber(x float64) string {
	switch {
	case x >= 100 || x == float64(int64(x)):
		return table.Grouped(int64(x + 0.5))
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}
