package publish

import (
	"reflect"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/table"
)

// Evidence is a value of package evidence, which has names and descriptions of its own fields. An observation has
// its kind before them.
type Evidence[T any] struct{ Of T }

// evidenceOf returns a value that may lack; nil where it does.
func evidenceOf[T any](of *T) *Evidence[T] {
	if of == nil {
		return nil
	}
	return &Evidence[T]{*of}
}

// evidenceList returns all of a list, never nil.
func evidenceList[T any](items []T) []Evidence[T] {
	return convert(items, func(x T) Evidence[T] { return Evidence[T]{x} })
}

// valueType returns the type that it is of.
func (Evidence[T]) valueType() reflect.Type { return reflect.TypeFor[T]() }

// MarshalJSON implements json.Marshaler. What is not finite is null, and a list without items is [].
func (e Evidence[T]) MarshalJSON() ([]byte, error) {
	v := reflect.ValueOf(e.Of)
	if x, ok := any(e.Of).(evidence.Observation); ok && reflect.TypeFor[T]().Kind() == reflect.Interface {
		return appendEvidence(append([]byte(`{"kind":"`), string(x.Kind())+`"`...), v)
	}
	return appendEvidence([]byte("{"), v)
}

// appendEvidence appends the fields of a struct to an object that is begun, and its end.
func appendEvidence(out []byte, v reflect.Value) (_ []byte, err error) {
	for _, f := range fieldsOf(v.Type()) {
		x := v.FieldByIndex(f.Index)
		if f.optional && (x.IsZero() || x.Kind() == reflect.Slice && x.Len() == 0) {
			continue
		}
		if out[len(out)-1] != '{' {
			out = append(out, ',')
		}
		if out, err = appendValue(append(append(append(out, '"'), f.name...), `":`...), x); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

func appendValue(out []byte, v reflect.Value) (_ []byte, err error) {
	switch v.Kind() {
	case reflect.Float64:
		if !table.Finite(v.Float()) {
			return append(out, "null"...), nil
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return appendValue(out, v.Elem())
		}
	case reflect.Struct:
		return appendEvidence(append(out, '{'), v)
	case reflect.Slice, reflect.Array:
		out = append(out, '[')
		for i := range v.Len() {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = appendValue(out, v.Index(i)); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	}
	text, err := compactJSON(v.Interface())
	return append(out, text...), err
}

// evidenceForm is a kind of evidence and what it is.
type evidenceForm struct {
	of  evidence.Observation
	doc string
}

// Meaning returns what a kind of evidence is.
func Meaning(e evidence.Observation) string {
	i := slices.IndexFunc(observations, func(k evidenceForm) bool { return k.of.Kind() == e.Kind() })
	return observations[i].doc
}

// Observations returns the zero values of all kinds of evidence.
func Observations() []evidence.Observation {
	return convert(observations, func(k evidenceForm) evidence.Observation { return k.of })
}

var observations = []evidenceForm{
	{evidence.Lack{}, "evidence against: a condition of a higher confidence that is not met"},
	{evidence.Witness{}, "what another recording of the same run says of the finding"},
	// Of windows.
	{evidence.LastToArrive{}, "the group waited for a rank at synchronisation points"},
	{evidence.Replay{}, "the steps with ranks brought to their peers' median, or with a stage at its own median in all steps"},
	{evidence.OwnPace{}, "the stage that makes a rank late is a wait for what comes at its own pace, so that what it saves is at most its delay"},
	{evidence.Distribution{}, "distributions of completion times and waits find the same rank, beyond a margin"},
	{evidence.LateTogether{}, "several ranks are late for the same reason, and what fixing all of them saves"},
	{evidence.SyncPoint{}, "where the ranks synchronise, and how that is known"},
	{evidence.DeviceTime{}, "device events of one stage next to the host's time: of a rank and its peers, or of all ranks alike"},
	{evidence.GroupWork{}, "the time that the ranks of a role group do not wait, a step"},
	{evidence.Slower{}, "a stage takes longer on all ranks than in another window of the run, or in a healthy run"},
	{evidence.BetweenSteps{}, "how long ranks spend between steps, and the one that spends longest there"},
	{evidence.InputBound{}, "all ranks wait for data most of each step"},
	{evidence.SlowSteps{}, "steps that are longer on all ranks alike, in several stages"},
	{evidence.LateIntermittently{}, "ranks are late because of a stage, now one and now another"},
	{evidence.RankToRank{}, "the same delay on another rank in each stretch of the run"},
	{evidence.RecurringHost{}, "late ranks of several runs are on one host"},
	{evidence.OneRank{}, "what takes the steps of the only rank, and where that changes"},
	{evidence.DeviceShares{}, "how the device of the only rank spends its steps: fractions of whole steps; kinds of work overlap"},
	{evidence.NobodyLate{}, "what was looked for and not found"},
	// Of the operators behind their stages.
	{evidence.LaunchedOperators{}, "what a rank launched in a stage next to its peers, or what the ranks of a role group launch as often as all other groups"},
	{evidence.OperatorDifference{}, "one operator on a rank next to its peers"},
	{evidence.CollectiveWait{}, "the long collectives of the peers are wait for the rank"},
	{evidence.SpentIn{}, "the line of the program in which a rank spends what it is late by"},
	// Of operator traces.
	{evidence.StepReplay{}, "what a step would take in the replay without what the finding is about"},
	{evidence.OperatorTimes{}, "the operators in which a worker is slow, the costliest first; none where it is slow in some steps only"},
	{evidence.PassTimes{}, "forward and backward compute, of a worker next to its peers or of a pipeline stage next to the others"},
	{evidence.Outliers{}, "how many operators are significantly longer than on the peers, by sfstat zscore"},
	{evidence.CompletionTimes{}, "a rank whose completion-time distribution departs from its peers', by sfstat ks"},
	{evidence.BlameWalks{}, "the walks back from late operators that end at a rank, by sfstat blame"},
	{evidence.TransferTimes{}, "transfers between two ranks next to those of the only other replica, or the communication of a stage next to the other stages, without waiting"},
	{evidence.LaunchDelay{}, "by how much operators start later behind what they wait for than those of the peers"},
	{evidence.MicrobatchCorrelation{}, "how the forward and backward compute of a microbatch varies together; p is of permutation tests"},
	// Of calls, kernels and entries of collectives.
	{evidence.LastToEnter{}, "a rank enters collectives last because of its own work; delays that it inherits from other synchronisation points are left out"},
	{evidence.SlowLink{}, "the work in which a link or communicator is slowest next to its peers, from the start of the last rank on"},
	{evidence.Bandwidth{}, "one comparison of equal work over links of one kind"},
	{evidence.NeverEntered{}, "a rank is missing from a call in which others wait"},
	{evidence.EnteredDifferently{}, "the ranks of a group disagree on a call"},
	{evidence.LateBehindMessages{}, "ranks are late together, behind sends and receives that are counted and not recorded"},
	// Of monitoring.
	{evidence.Monitored{}, "a quantity in which a GPU or a host differed from the others at the time of a finding; or quantities in which it did not"},
	{evidence.Reported{}, "what the kernel of a host reported at the time of a finding, or what another tool concludes of a rank"},
	{evidence.ProbeTime{}, "a probe inside the stages, in which a late rank takes longer than the others"},
}
