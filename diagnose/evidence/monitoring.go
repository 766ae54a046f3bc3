package evidence

// What monitoring recorded while a finding struck. It is no cause: it changes no
// confidence, and says where to look first.

// Monitored: a quantity in which a GPU or a host differed from the others at the
// time of a finding.
type Monitored struct {
	Quantity string  `json:"quantity"` // package trace lists them
	Unit     string  `json:"unit"`
	Host     string  `json:"host"`
	Device   *int    `json:"device,omitempty"` // index of the GPU on its host; of the host as a whole without
	Own      float64 `json:"own"`
	Peers    float64 `json:"peers"` // median of the others
	Low      float64 `json:"low"`   // of the others
	High     float64 `json:"high"`
	N        int     `json:"n"`        // others
	Readings int     `json:"readings"` // of the unit
	Tested   bool    `json:"tested"`   // there are others enough
	P        float64 `json:"p"`        // were it like the others; corrected for Tests
	Tests    int     `json:"tests"`    // comparisons that were made
	Timeless bool    `json:"timeless"` // of the whole file: the time of the readings, or of the steps, is not known
	Zoneless bool    `json:"zoneless"` // the times in the file name no zone
}

// MonitoredAlike: what was compared, and was as on the others.
type MonitoredAlike struct {
	Host       string   `json:"host"`
	Device     *int     `json:"device,omitempty"`
	Quantities []string `json:"quantities"`
	N          int      `json:"n"` // others, the most in any
}

// Reported: what the kernel of a host reported at the time of a finding.
type Reported struct {
	Event  string `json:"event"` // xid, machine_check, out_of_memory, cpu_overheated or link_down
	Code   int    `json:"code,omitempty"`
	Host   string `json:"host"`
	Device *int   `json:"device,omitempty"` // where its address is known
	N      int    `json:"n"`                // times
	At     int64  `json:"at_ns,omitempty"`  // of the first, since 1970; 0: not known
	Text   string `json:"text"`             // of the first
	// Zoneless: the times in the log name no zone.
	Zoneless bool `json:"zoneless"`
}

// ProbeTime: a probe inside the stages, in which a late rank takes longer than the
// others.
type ProbeTime struct {
	Channel string  `json:"channel"`
	Rank    int     `json:"rank"`
	Own     int64   `json:"own_ns"`   // a step
	Peers   int64   `json:"peers_ns"` // median
	N       int     `json:"n"`        // others
	Steps   int     `json:"steps"`
	P       float64 `json:"p"` // were the rank like the others; corrected for the number of probes
}

func (Monitored) Kind() Kind      { return "monitored" }
func (MonitoredAlike) Kind() Kind { return "monitored_alike" }
func (Reported) Kind() Kind       { return "reported" }
func (ProbeTime) Kind() Kind      { return "probe_time" }
