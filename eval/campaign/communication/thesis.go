package communication

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"

	"github.com/sfstat/sfstat/engine/comm/megatron"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/internal/strictyaml"
	"github.com/sfstat/sfstat/trace/nccl"
)

// thesis is what the NCCL Trace Profiler publishes of the calls and bytes of its jobs; thesis.yaml says what
// its parts are.
type thesis struct {
	Base    megatron.Job `yaml:"base"`
	Dense   megatron.Job `yaml:"dense"`
	MoE     megatron.Job `yaml:"moe"`
	Theory  []theoryRow  `yaml:"theory"`
	Layouts []layout     `yaml:"layouts"`
	Counted []counted    `yaml:"counted"`
}

type theoryRow struct {
	Row      string       `yaml:"row"`
	Model    volume.Model `yaml:"model"`
	Stage    int64        `yaml:"stage"`
	Layout   string       `yaml:"layout"`
	Ranks    []int64      `yaml:"ranks"`
	Theory   float64      `yaml:"theory"`
	Observed float64      `yaml:"observed"`
	Ratio    float64      `yaml:"ratio"`
}

type layout struct {
	Name       string       `yaml:"layout"`
	Model      megatron.Job `yaml:"model"`
	Operations []observed   `yaml:"operations"`
	Total      struct {
		Calls float64 `yaml:"calls"`
		GB    float64 `yaml:"gb"`
	} `yaml:"total"`
}

type observed struct {
	Name         string  `yaml:"op"`
	Calls        float64 `yaml:"calls"`
	CallsPercent float64 `yaml:"calls_percent"`
	GB           float64 `yaml:"gb"` // in units of observedGB
	GBPercent    float64 `yaml:"gb_percent"`
}

// counted is a table of lines and kernels of each rank.
type counted struct {
	Table string                `yaml:"table"`
	Model megatron.Job          `yaml:"model"`
	Ranks []map[string][2]int64 `yaml:"ranks"`
}

func (o *observed) op() nccl.Op { return nccl.ParseOp(o.Name) }

// observedGB is the unit of its bytes, found from the numbers: with it every volume of chapter 5 comes out to the digit.
const observedGB = 1 << 30

//go:embed thesis.yaml
var thesisText []byte

var published = sync.OnceValue(func() *thesis {
	t := new(thesis)
	err := strictyaml.Decode("thesis.yaml", thesisText, t)
	for i := range t.Theory {
		if err == nil {
			t.Theory[i].Model, err = t.Theory[i].Model.Complete()
		}
	}
	complete := func(j *megatron.Job) {
		if err == nil {
			*j, err = j.Complete()
		}
	}
	for i := range t.Layouts {
		complete(&t.Layouts[i].Model)
	}
	for i := range t.Counted {
		complete(&t.Counted[i].Model)
	}
	if err != nil { // a test reads it
		panic(fmt.Errorf("communication: %w", err))
	}
	return t
})

// layoutNamed returns the layout of a name; thesis.yaml has it.
func (t *thesis) layoutNamed(name string) *layout {
	return &t.Layouts[slices.IndexFunc(t.Layouts, func(l layout) bool { return l.Name == name })]
}
