package campaign

import (
	"strings"
	"testing"
)

// TestSettingsRefused: what a setting cannot be is said.
func TestSettingsRefused(t *testing.T) {
	for name, test := range map[string]struct{ settings, want string }{
		"nothing":    {"{name: a}", "setting a changes nothing"},
		"no name":    {"{tau: 0.7}", `name of a setting is ""`},
		"twice":      {"{name: a, tau: 0.7}, {name: a, tau: 0.8}", "setting a stands twice"},
		"tau":        {"{name: a, tau: 1.1}", "setting a: tau is 1.1"},
		"NaN":        {"{name: a, min_gain: .nan}", "setting a: min_gain is NaN"},
		"a cut":      {"{name: a, cut: here}", `setting a: cut is "here"`},
		"a fit":      {"{name: a, model_fit: loose}", `setting a: model fit is "loose"`},
		"one step":   {"{name: a, steps: 1}", "setting a: steps is 1, expected 2 or more"},
		"a misspelt": {"{name: a, window: 30}", "window"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseSpec("c.yaml", []byte("name: c\ngroups: [{name: g, families: [nofault], ranks: [2], seeds: [0]}]\nsettings: ["+test.settings+"]\n"))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, expected %q", err, test.want)
			}
		})
	}
}
