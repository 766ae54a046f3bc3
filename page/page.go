// Package page puts what a page draws of a job into one small value: where the
// time of its steps goes, who arrives last, what each rank does in which step, and
// single steps, rank by rank, with the waits of each.
//
// A job of 4,096 ranks and 600 steps has 17 million stage times, and a screen has
// two million points. What does not fit is summed, and the value says how:
//
//   - steps are put together by twos, fours … until no more than mostColumns
//     columns are left; of a column, times are means and lateness is the largest;
//   - of many ranks, those that are late for longest in all have a row of the map,
//     and quantiles over all ranks stand for the others;
//   - where not every step can be drawn, those are in which a suspect or anybody
//     is latest, and one of usual length.
//
// Times are whole multiples of a unit of the run, which is a power of ten in
// nanoseconds and at most a 10,000th of its mean step. The package is pure.
package page

import "github.com/sfstat/sfstat/internal/bug"

// Page is what one page shows, run by run in the order of the verdict.
type Page struct {
	Runs   []Run        `json:"runs"`
	Failed []*bug.Error `json:"-"` // why runs have no charts, where that is a bug
}

// Run is what is shown of one run. What its inputs do not have is nil.
type Run struct {
	Name     string  `json:"name"`
	Status   string  `json:"status"`
	Unit     int64   `json:"unit_ns"` // of the times below that have no unit in their name
	Stages   []Stage `json:"stages"`
	Ranks    []Rank  `json:"ranks"`
	AllRanks int     `json:"all_ranks"` // Ranks are some of so many
	Culprit  int     `json:"culprit"`   // stage that the first finding names, by position in Stages; −1: none
	Named    []int   `json:"named"`     // ranks that findings name, by position in Ranks, the first finding's first
	Steps    *Steps  `json:"steps"`
	Drawn    []Drawn `json:"drawn"`
	AllDrawn bool    `json:"all_drawn"` // every step is
	Fixes    []Fix   `json:"fixes"`
	Since    []Since `json:"since"`  // when findings struck
	Places   []Seen  `json:"places"` // what the recording shows of each place of a step
	Windows  []Part  `json:"windows"`

	Latent    *Latent   `json:"latent"`    // who differs by more than a margin; nil: nobody
	Operators bool      `json:"operators"` // Stages are the names of operators
	Workers   bool      `json:"workers"`   // Ranks are workers that stand for several ranks each
	Apart     *Apart    `json:"apart"`
	Signs     *Signs    `json:"signs"`
	Walk      *Walk     `json:"walk"`
	Arrivals  *Arrivals `json:"arrivals"`
	Traffic   *Traffic  `json:"traffic"`
}

// Stage is one stage in the order of the step as recorded.
type Stage struct {
	Name    string   `json:"name"`
	Syncs   bool     `json:"synchronises"` // ranks synchronise in it
	Advance int64    `json:"advance_ns"`   // exposed time, over all steps
	Share   *float64 `json:"share"`        // of the exposed time of all steps; nil where there is none
}

// Rank is one rank over all steps.
type Rank struct {
	ID    int    `json:"id"`
	Host  string `json:"host"`
	Local int    `json:"local"`
	Role  string `json:"role"`
	Spent []int  `json:"spent"` // [stage] a step, −1: not recorded
	Waits []int  `json:"waits"` // [stage] of it for the last rank to arrive
	Late  int    `json:"late"`  // behind the median rank, a step
	Last  int    `json:"last"`  // steps in which it was last to arrive
}

// Steps are the steps of a run in columns.
type Steps struct {
	Count int `json:"count"`
	// Entered says that Last, Behind and Late are of the entries of calls, whose own
	// delay they are, and not of stage times. Behind is −1 where there are none.
	Entered bool    `json:"entered"`
	Width   int     `json:"width"`   // steps of a column; the last of a window may have fewer
	First   []int64 `json:"first"`   // step of each column
	Exposed [][]int `json:"exposed"` // [stage][column], mean of its steps
	Last    []int   `json:"last"`    // position of the rank that was latest; −1: nobody was late
	Behind  []int   `json:"behind"`  // by how much
	// Rows are the ranks, by position in Run.Ranks, that have rows in the maps.
	Rows  []int     `json:"rows"`
	Late  [][]int   `json:"late"`  // [row][column], the largest of its steps; −1: not recorded
	Spent [][][]int `json:"spent"` // [stage][row][column], mean of its steps; −1 likewise
	// Bands are quantiles over all ranks of the lateness; nil where all have rows.
	Bands *Bands `json:"bands"`
}

// Bands are quantiles.
type Bands struct {
	Of []float64 `json:"of"`
	At [][]int   `json:"at"` // [quantile][column]
}

// Drawn is one step, rank by rank.
type Drawn struct {
	Step   int64   `json:"step"`
	Why    string  `json:"why"` // a kind of reason: suspect, latest, longest, usual; "" where all steps are drawn
	Length int     `json:"length"`
	Lanes  []Lane  `json:"lanes"`
	Points []Point `json:"points"`
}

// Lane is what one rank does in a step.
type Lane struct {
	Rank  int     `json:"rank"` // position in Run.Ranks
	Late  int     `json:"late"`
	Spans [][]int `json:"spans"` // series, from, busy, to: until busy it waits for another; 1 follows where it is not the main queue
}

// Point is when the last rank arrived where all synchronise.
type Point struct {
	At     int `json:"at"`
	Series int `json:"series"`
	Rank   int `json:"rank"` // that arrived last, position in Run.Ranks
}

// Fix is what fixing one thing would save.
type Fix struct {
	Kind  string  `json:"kind"` // finding, stage, ranks: nobody is late
	Who   string  `json:"who"`  // of a finding
	Stage string  `json:"stage"`
	Line  string  `json:"line"` // of the program, of a finding; ""
	Gain  float64 `json:"gain"` // of the run
}

// Since is when a finding struck.
type Since struct {
	Who     string `json:"who"`
	Stage   string `json:"stage"`
	In      int    `json:"in"`    // position in Run.Stages of Stage; −1: none
	Ranks   []int  `json:"ranks"` // whom it names, by position in Run.Ranks; none: a stage on all of them
	First   int64  `json:"first"` // step
	Last    int64  `json:"last"`
	Count   int    `json:"count"` // of the steps that were compared
	Of      int    `json:"of"`
	Pattern string `json:"pattern"`
	Period  int    `json:"period"` // steps from one to the next; 0: not always as many
}

// Seen is what the recording shows of a place of a step.
type Seen struct {
	Stage string `json:"stage"`    // "": anywhere
	Found int64  `json:"found_ns"` // least delay of one rank that is found; 0: none is
	Hides int64  `json:"hides_ns"` // largest that is not shown; 0: none, or not known
	Why   string `json:"why"`      // not
}

// Part is how one window was read.
type Part struct {
	Window   int64   `json:"window"`
	First    int64   `json:"first"`
	Steps    int     `json:"steps"`
	Ranks    int     `json:"ranks"`
	Missing  int     `json:"missing"`
	Cut      string  `json:"cut"`
	Makespan int64   `json:"makespan_ns"`
	Residual float64 `json:"closure_residual_share"`
	Overlap  float64 `json:"overlap_error_share"`
	Gathered bool    `json:"gather_ok"`
}

// Latent is which ranks differ from their peers by more than a margin in what they work by themselves.
type Latent struct {
	Margin int64        `json:"margin_ns"`
	Step   int64        `json:"step_ns"`
	Ranks  []Difference `json:"ranks"` // the surest first
}

// Difference is how one rank differs.
type Difference struct {
	Rank   int      `json:"rank"`     // ID
	Level  int64    `json:"level_ns"` // beyond the median of its peers, a step
	Stages []string `json:"stages"`   // the largest first
	Sum    bool     `json:"sum"`      // in their sum alone
	D      float64  `json:"d"`        // largest weighted departure of the distributions
	Waits  bool     `json:"waits"`    // lead to it, too
	P      float64  `json:"p"`
	// Empty: not known; nobody waits.
	Places   []LatentPlace `json:"places"`
	Together bool          `json:"together"` // places are of all stages before the point; else of the first of stages
	Quarters []Quarter     `json:"quarters"`
}

// LatentPlace is a time at which K-S compares a rank with its peers.
type LatentPlace struct {
	Beyond int64   `json:"beyond_ns"` // own work beyond the usual, a step
	Peers  float64 `json:"peers"`     // share of steps in which a peer takes longer
	Rank   float64 `json:"rank"`      // the same of the rank, less the margin
	D      float64 `json:"d"`         // weighted departure
}

// Quarter is how often a rank is last, even less the margin, in a quarter of the steps.
type Quarter struct {
	Last int `json:"last"`
	Of   int `json:"of"`
}

// Apart is how far the completion times of ranks are apart (package ks).
type Apart struct {
	Ranks []int       `json:"ranks"` // positions in Run.Ranks
	D     [][]float64 `json:"d"`     // 0 … 1; −1: nothing completed
}

// Signs are what K-S, outliers and blame find in an operator trace.
type Signs struct {
	Symptoms int     `json:"symptoms"` // late operators that blame walked back from
	Alpha    float64 `json:"alpha"`    // family-wise error of the outliers
	Ranks    []Sign  `json:"ranks"`
}

// Sign is what they find on one rank.
type Sign struct {
	Rank    int     `json:"rank"`      // position in Run.Ranks
	Departs bool    `json:"departs"`   // its completion times, by K-S
	S       float64 `json:"s"`         // of that test
	Later   int64   `json:"later_ns"`  // on average
	Whole   int     `json:"whole"`     // operators that are outliers over the whole window
	Steps   int     `json:"steps"`     // instances that are outliers in single steps
	Excess  int64   `json:"excess_ns"` // by which these are longer than on the peers
	Walks   int     `json:"walks"`     // walks of blame that end here
	Op      string  `json:"op"`        // where most of them end
}

// Walk is one walk back from a late operator to where its delay began.
type Walk struct {
	Step     int64  `json:"step"`
	Stops    []Stop `json:"stops"`
	Left     int    `json:"left"`     // stops in the middle that are not shown
	Symptoms int    `json:"symptoms"` // late operators that lead there
	All      int    `json:"all"`
}

// Stop is one operator on the way.
type Stop struct {
	Rank   int    `json:"rank"` // ID
	Op     string `json:"op"`
	Start  int    `json:"start"`
	Length int    `json:"length"`
}

// Arrivals is who arrives last where calls are entered.
type Arrivals struct {
	Step   int64   `json:"step_ns"`
	Ranks  []int   `json:"ranks"` // IDs
	Named  []int   `json:"named"` // IDs of ranks that findings name
	Calls  int     `json:"calls"`
	Lost   int64   `json:"lost"`
	Places []Place `json:"places"`
}

// Place is one call of the program.
type Place struct {
	Op     string  `json:"op"`
	Group  string  `json:"group"`
	Line   string  `json:"line"`
	Stage  string  `json:"stage"`
	Points int     `json:"points"`
	Skew   int64   `json:"skew_ns"`
	Own    []int64 `json:"own_ns"` // [rank] own delay, median; −1: no member
	Last   []int   `json:"last"`   // [rank] times it entered last
}
