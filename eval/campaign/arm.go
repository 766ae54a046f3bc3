package campaign

// Arm is how the windows of a run are carried out: without the recorder, or with it and
// with what runs beside it.
type Arm = word[arms]

// The arms. All but Off have the recorder.
const (
	Off    Arm = iota
	Wall       // the recorder with wall times
	Events     // with device times besides
	Sample     // with wall times, and sfstat sample beside the job
)

type arms struct{}

func (arms) words() (string, []string) { return "arm", []string{"off", "wall", "events", "sample"} }

// ParseArm returns the arm of a name: the inverse of String.
func ParseArm(name string) (a Arm, err error) {
	err = a.UnmarshalText([]byte(name))
	return a, err
}

// Gate returns the overhead that StageFrontier (§6.4) set itself before it measured, a
// fraction: 3 % of wall times, 1 % with device times. Monitoring beside the job has that of
// wall times. Off has none: 0.
func Gate(a Arm) float64 {
	switch a {
	case Wall, Sample:
		return 0.03
	case Events:
		return 0.01
	}
	return 0
}
