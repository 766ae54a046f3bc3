package simulate

// Names of the stages of the default program.
const (
	StageData      = "data.next_wait"
	StageForward   = "model.fwd_loss_cpu_wall"
	StageBackward  = "model.backward_cpu_wall"
	StageCallbacks = "callbacks.cpu_wall"
	StageOptimizer = "optim.step_cpu_wall"
)

// Spec is one run: what the program does, on how many ranks, with which noise
// and which faults. Start from DefaultSpec and change what matters.
type Spec struct {
	Run          string   `yaml:"run,omitempty" json:"run,omitempty"` // default: family, ranks and seed
	Seed         uint64   `yaml:"seed" json:"seed"`
	Ranks        int      `yaml:"ranks" json:"ranks"`
	RanksPerHost int      `yaml:"ranks_per_host" json:"ranks_per_host"`
	Layout       []Axis   `yaml:"layout,omitempty" json:"layout,omitempty"` // fastest axis first; default: all data-parallel
	Schedule     Schedule `yaml:"schedule" json:"schedule"`

	// Accumulation is the number of microsteps k of one step; 0 and 1 both mean
	// none. Stages marked PerMicrostep run k times, each time with 1/k of
	// their work, and are recorded as "name@0" … "name@k-1".
	Accumulation int     `yaml:"accumulation" json:"accumulation"`
	Stages       []Stage `yaml:"stages" json:"stages"`
	Other        Dist    `yaml:"other" json:"other"` // end of the step that no stage covers: the residual

	Noise noise `yaml:"noise" json:"noise"`
	Clock Clock `yaml:"clock" json:"clock"`
	Side  side  `yaml:"side" json:"side"`
	// Arrivals: windows say when each rank entered each collective.
	Arrivals bool `yaml:"arrivals,omitempty" json:"arrivals,omitempty"`

	Work   []WorkFactor `yaml:"work,omitempty" json:"work,omitempty"`
	Faults []Fault      `yaml:"faults,omitempty" json:"faults,omitempty"`
}

// Axis is one axis of the parallel layout, such as tp of size 8.
type Axis struct {
	Name string `yaml:"axis" json:"axis"`
	Size int    `yaml:"size" json:"size"`
}

// Schedule is which steps are recorded: Warmup steps are not, then come
// Windows of Steps each with Gap unrecorded steps between two windows.
type Schedule struct {
	Windows int `yaml:"windows" json:"windows"`
	Steps   int `yaml:"steps" json:"steps"`
	Warmup  int `yaml:"warmup" json:"warmup"`
	Gap     int `yaml:"gap" json:"gap"`
}

// firstStep returns the absolute index of the first step of a window.
func (s Schedule) firstStep(window int) int64 {
	return int64(s.Warmup) + int64(window)*int64(s.Steps+s.Gap)
}

// recordedIndex returns the index of an absolute step among the recorded ones, and its
// window; ok is false in the warm-up, a gap, and past the end.
func (s Schedule) recordedIndex(step int64) (index int64, window int, ok bool) {
	at := step - int64(s.Warmup)
	if at < 0 {
		return 0, 0, false
	}
	window = int(at / int64(s.Steps+s.Gap))
	in := at % int64(s.Steps+s.Gap)
	if in >= int64(s.Steps) || window >= s.Windows {
		return 0, 0, false
	}
	return int64(window)*int64(s.Steps) + in, window, true
}

// Stage is one stage of the step, in program order.
type Stage struct {
	Name string `yaml:"name" json:"name"`
	// Work is the host time of a healthy rank for the whole step.
	Work Dist `yaml:"work" json:"work"`
	// Device is the time of work that the stage launches on the device and
	// does not wait for. It runs after what was launched before.
	Device Dist `yaml:"device,omitempty" json:"device,omitzero"`
	// AwaitDevice: the work cannot begin before the device is done.
	AwaitDevice  bool        `yaml:"await_device,omitempty" json:"await_device,omitempty"`
	PerMicrostep bool        `yaml:"per_microstep,omitempty" json:"per_microstep,omitempty"`
	Loader       *loaderSpec `yaml:"loader,omitempty" json:"loader,omitempty"`
	SyncPoints   []SyncPoint `yaml:"meetings,omitempty" json:"meetings,omitempty"`
}

// loader prepares the batches that a data stage takes, in the background: up
// to Depth batches ahead of the one in use. A batch that is not ready is
// waited for; the Work of the stage comes on top.
type loaderSpec struct {
	Depth int  `yaml:"depth" json:"depth"` // 1 or more
	Load  Dist `yaml:"load" json:"load"`   // time to prepare the batches of one step
}

// SyncPoint is where ranks wait for each other, at the end of a stage: nobody
// leaves before the last one has come and the transfer is done.
type SyncPoint struct {
	// Across lists the axes of the layout along which ranks synchronise; ranks that
	// differ on another axis do not. Empty: all ranks.
	Across   []string `yaml:"across,omitempty" json:"across,omitempty"`
	Transfer Dist     `yaml:"transfer" json:"transfer"` // the same for all ranks of a group
	Exit     Dist     `yaml:"exit" json:"exit"`         // from the end of the transfer until a rank goes on
	// Overlap in [0, 1] is the share of the transfer that belongs to buckets
	// which are ready before the work of the stage ends: a rank starts them
	// with that share of its work still to do.
	Overlap float64 `yaml:"overlap,omitempty" json:"overlap,omitempty"`
	Stall   hangs   `yaml:"stall,omitempty" json:"stall,omitzero"`
	// LastMicrostep: with accumulation, ranks synchronise in the last microstep only,
	// as under no_sync.
	LastMicrostep bool `yaml:"last_microstep,omitempty" json:"last_microstep,omitempty"`
}

// hangs is a hop of the ring that hangs: with Probability per synchronisation point, some
// neighbours in the group (a random number of them, from a random place on)
// leave later by the same Length.
type hangs struct {
	Probability float64 `yaml:"probability" json:"probability"`
	Length      Dist    `yaml:"length" json:"length"`
}

// noise is what makes ranks differ beyond the jitter of each stage.
type noise struct {
	SpeedSD float64 `yaml:"speed_sd" json:"speed_sd"` // relative deviation of the persistent speed of ranks
	Drift   drift   `yaml:"drift" json:"drift"`
	Spikes  spikes  `yaml:"spikes" json:"spikes"`
}

// drift is a slow change of speed: a stationary first-order autoregression
// x(t+1) = ρ·x(t) + √(1−ρ²)·SD·ε with ρ = exp(−1/Steps), work times 1 + x.
type drift struct {
	SD      float64 `yaml:"sd" json:"sd"`             // relative
	Steps   float64 `yaml:"steps" json:"steps"`       // correlation length in steps; 0: no memory
	PerHost bool    `yaml:"per_host" json:"per_host"` // one drift for all ranks of a host
}

// spikes are moments in which a host does something else: with Probability in
// a step, one stage of the ranks of a host (each with chance Share) takes an
// exponential time of mean Mean longer.
type spikes struct {
	Probability float64 `yaml:"probability" json:"probability"`
	Mean        Millis  `yaml:"mean_ms" json:"mean_ms"`
	Share       float64 `yaml:"share" json:"share"`
}

// side is the sampling of device times: every Every-th step of a window (0:
// never), the device time of each stage that has one. A sample is not ready
// when the device is still at work at the end of the step, and with the
// probability Unready besides.
type side struct {
	Every   int     `yaml:"every" json:"every"`
	Unready float64 `yaml:"unready" json:"unready"`
}

// WorkFactor multiplies the work of some ranks: those at the coordinates
// Where, and in Ranks if it is given (neither: all ranks); in Stages (empty:
// all). Device time is multiplied too, transfers are not.
type WorkFactor struct {
	Where  map[string]int `yaml:"where,omitempty" json:"where,omitempty"`
	Ranks  []int          `yaml:"ranks,omitempty" json:"ranks,omitempty"`
	Stages []string       `yaml:"stages,omitempty" json:"stages,omitempty"`
	Factor float64        `yaml:"factor" json:"factor"`
}

// DefaultSpec returns a data-parallel job of 8 ranks on one host, with the stages, the scale and the noise of PyTorch runs over
// Gloo: about 218 ms a step, of which backward with its all-reduce takes 120.
func DefaultSpec() Spec {
	return Spec{
		Ranks: 8, RanksPerHost: 8, Accumulation: 1,
		Schedule: Schedule{Windows: 1, Steps: 120, Warmup: 20},
		Stages: []Stage{
			{Name: StageData, Work: Dist{16.08, 0.24, Normal}, PerMicrostep: true},
			{Name: StageForward, Work: Dist{60.85, 1.0, Normal}, Device: Dist{Mean: 60}, PerMicrostep: true},
			{Name: StageBackward, Work: Dist{98, 3.5, Normal}, AwaitDevice: true, PerMicrostep: true,
				SyncPoints: []SyncPoint{{Transfer: Dist{15.5, 6, Gamma}, Exit: Dist{0.7, 0.4, LogNormal},
					Stall: hangs{0.25, Dist{3.8, 1.2, Gamma}}}}},
			{Name: StageCallbacks, Work: Dist{6.09, 0.1, Normal}},
			{Name: StageOptimizer, Work: Dist{14.45, 0.3, Normal}},
		},
		Other: Dist{0.009, 0.005, Exponential},
		Noise: noise{SpeedSD: 0.001, Spikes: spikes{Probability: 0.05, Mean: 2, Share: 0.6}},
		Clock: Clock{SkewSD: 1, DriftPPM: 10},
		Side:  side{Every: 4},
	}
}

// barrier returns the synchronisation point that a callback_sync fault adds to its stage.
func barrier() SyncPoint {
	return SyncPoint{Transfer: Dist{1.5, 1, Gamma}, Exit: Dist{0.4, 0.3, LogNormal}, Stall: hangs{0.2, Dist{3.5, 1.2, Gamma}}}
}

// axis returns the size of an axis of the layout; 0 without it.
func (s *Spec) axis(name string) int {
	for _, a := range s.Layout {
		if a.Name == name {
			return a.Size
		}
	}
	return 0
}

// microsteps returns the accumulation factor, at least 1.
func (s *Spec) microsteps() int { return max(1, s.Accumulation) }
