package campaign

import (
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace/input"
)

// Setting is how the runs of a campaign are analysed once more. What is zero is as without it.
type Setting struct {
	Name     string  `yaml:"name"`
	Tau      float64 `yaml:"tau,omitempty"`       // of the gates
	Cut      string  `yaml:"cut,omitempty"`       // where a step begins, for routing and verdict
	ModelFit string  `yaml:"model_fit,omitempty"` // likewise
	MinGain  float64 `yaml:"min_gain,omitempty"`  // from which on a finding is called
	Steps    int     `yaml:"steps,omitempty"`     // of a window at most: longer ones are divided
}

// Frontier returns the cut and the model fit; given says whether there are any.
func (s *Setting) Frontier() (o frontier.Options, given bool, err error) {
	if s.Cut != "" {
		if o.Cut, err = frontier.ParseCut(s.Cut); err != nil {
			return o, false, err
		}
	}
	if s.ModelFit != "" {
		o.ModelFit, err = frontier.ParseFit(s.ModelFit)
	}
	return o, s.Cut != "" || s.ModelFit != "", err
}

// validateSettings refuses settings that cannot be, or are one.
func (s *Spec) validateSettings() error {
	known := map[string]bool{}
	for i := range s.Settings {
		x := &s.Settings[i]
		if err := goodName("name of a setting", x.Name); err != nil {
			return err
		}
		_, given, err := x.Frontier()
		switch {
		case err != nil:
			return input.Bad(input.ErrType, "setting %s: %v", x.Name, err)
		case known[x.Name]:
			return input.Bad(input.ErrDuplicate, "setting %s stands twice", x.Name)
		case !(x.Tau >= 0 && x.Tau <= 1):
			return input.Bad(input.ErrFormat, "setting %s: tau is %v, expected above 0 and at most 1", x.Name, x.Tau)
		case !(x.MinGain >= 0 && x.MinGain <= 1):
			return input.Bad(input.ErrFormat, "setting %s: min_gain is %v, expected a share of 1", x.Name, x.MinGain)
		case x.Steps < 0 || x.Steps == 1:
			return input.Bad(input.ErrFormat, "setting %s: steps is %d, expected 2 or more", x.Name, x.Steps)
		case !given && x.Tau == 0 && x.MinGain == 0 && x.Steps == 0:
			return input.Bad(input.ErrMissing, "setting %s changes nothing: give it some of tau, cut, model_fit, min_gain, steps", x.Name)
		}
		known[x.Name] = true
	}
	return nil
}
