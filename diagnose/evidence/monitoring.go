package evidence

// What monitoring recorded while a finding struck. It is no cause: it changes no
// confidence, and says where to look first.

// Monitored: a quantity in which a GPU or a host differed from the others at the
// time of a finding; or, with Alike, quantities in which it did not.
type Monitored struct {
	Quantity string   `json:"quantity,omitempty" doc:"the quantity"`
	Unit     string   `json:"unit,omitempty" doc:"unit of its values"`
	Host     string   `json:"host" doc:"the host, or the host of the GPU"`
	Device   *int     `json:"device,omitempty" doc:"index of the GPU on its host; absent: the host as a whole"`
	Own      float64  `json:"own" doc:"its value"`
	Peers    float64  `json:"peers" doc:"value of the others, median"`
	Low      float64  `json:"low" doc:"least value of the others"`
	High     float64  `json:"high" doc:"largest value of the others"`
	Slowed   int64    `json:"slowed_ns,omitempty" doc:"of a time with a lowered clock: the time in a step"`
	Step     int64    `json:"step_ns,omitempty" doc:"of a time with a lowered clock: the length of the step that the finding struck"`
	N        int      `json:"n" doc:"others that were compared"`
	Readings int      `json:"readings" doc:"readings of it"`
	Tested   bool     `json:"tested" doc:"there are enough others for a test"`
	P        float64  `json:"p" doc:"chance of it if it were like the others; corrected for tests"`
	Tests    int      `json:"tests" doc:"comparisons that were made"`
	Timeless bool     `json:"timeless" doc:"over the whole file: the time of the readings, or of the steps, is not known"`
	Zoneless bool     `json:"zoneless" doc:"the times in the file name no zone"`
	Alike    []string `json:"alike,omitempty" doc:"quantities in which it was like the others, where none differed"`
}

// Reported: what the kernel of a host reported at the time of a finding, or what another tool concludes of a rank.
type Reported struct {
	Event    string `json:"event" doc:"xid, machine_check, out_of_memory, cpu_overheated, link_down or tool_report"`
	Code     int    `json:"code,omitempty" doc:"code of the event"`
	Host     string `json:"host" doc:"the host; empty: not known"`
	Device   *int   `json:"device,omitempty" doc:"index of the GPU on its host, where its address is known"`
	N        int    `json:"n" doc:"how often it was reported"`
	At       int64  `json:"at_ns,omitempty" doc:"time of the first report, since 1970; absent: not known"`
	Text     string `json:"text" doc:"text of the first report"`
	Timeless bool   `json:"timeless" doc:"the time of the steps is not known"`
	Zoneless bool   `json:"zoneless" doc:"the times in the log name no zone"`
}

// ProbeTime: a probe inside the stages, in which a late rank takes longer than the
// others.
type ProbeTime struct {
	Channel string  `json:"channel" doc:"side channel of the probe"`
	Rank    int     `json:"rank" doc:"the rank"`
	Own     int64   `json:"own_ns" doc:"its time, a step"`
	Peers   int64   `json:"peers_ns" doc:"time of the others, a step, median"`
	N       int     `json:"n" doc:"others that were compared"`
	Steps   int     `json:"steps" doc:"steps that were recorded"`
	P       float64 `json:"p" doc:"chance of it if the rank were like the others; corrected for the number of probes"`
}

func (Monitored) Kind() Kind { return "monitored" }
func (Reported) Kind() Kind  { return "reported" }
func (ProbeTime) Kind() Kind { return "probe_time" }
