package communication

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/internal/strictyaml"
	"github.com/sfstat/sfstat/trace/nccl"
)

// thesis is what the NCCL Trace Profiler publishes of the bytes of its jobs; thesis.yaml says what
// its parts are.
type thesis struct {
	Base    volume.Model `yaml:"base"`
	Theory  []theoryRow  `yaml:"theory"`
	Layouts []layout     `yaml:"layouts"`
}

type theoryRow struct {
	Row      string       `yaml:"row"`
	Model    volume.Model `yaml:"model"`
	Stage    int64        `yaml:"stage"`
	Theory   float64      `yaml:"theory"`
	Observed float64      `yaml:"observed"`
	Ratio    float64      `yaml:"ratio"`
}

type layout struct {
	Name       string       `yaml:"layout"`
	Model      volume.Model `yaml:"model"`
	Operations []observed   `yaml:"operations"`
}

type observed struct {
	Name         string  `yaml:"op"`
	Calls        float64 `yaml:"calls"`
	CallsPercent float64 `yaml:"calls_percent"`
	GB           float64 `yaml:"gb"` // in units of observedGB
	GBPercent    float64 `yaml:"gb_percent"`
}

func (o *observed) op() nccl.Op { return nccl.ParseOp(o.Name) }

// observedGB is the unit of its bytes, found from the numbers: with it the model gives 1.43, 3.75 and 8.75 to the
// digit, and 5.71 of 5.72.
const observedGB = 1 << 30

//go:embed thesis.yaml
var thesisText []byte

var published = sync.OnceValue(func() *thesis {
	t := new(thesis)
	err := strictyaml.Decode("thesis.yaml", thesisText, t)
	complete := func(m *volume.Model) {
		if err == nil {
			*m, err = m.Complete()
		}
	}
	for i := range t.Theory {
		complete(&t.Theory[i].Model)
	}
	for i := range t.Layouts {
		complete(&t.Layouts[i].Model)
	}
	if err != nil { // a test reads it
		panic(fmt.Errorf("communication: %w", err))
	}
	return t
})
