package report

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
)

// Explain returns the answer to a run as a paragraph for who pays for it: what happens, what it costs in hours of GPUs, one for
// each rank, how sure that is, and what to do.
func Explain(v *diagnose.RunVerdict) string {
	a, screen := v.Answer(), answerTo(v)
	sentences := []string{screen.headline()}
	ranks, ns := 0, int64(0)
	for _, w := range v.Windows {
		ranks = max(ranks, len(w.Main.Ranks))
		ns += w.Main.Makespan
	}
	if lost := a.Saving.Run; screen.found > evidence.Insufficient && lost > 0 && ranks > 0 {
		sentences = append(sentences, fmt.Sprintf("While that lasts, %s of every %d GPU hours are lost (%s); in the %s that were recorded, %s.",
			threeDigits(lost*float64(ranks)), ranks, fraction(lost), length(float64(ns)), gpuTime(lost*float64(ranks)*float64(ns))))
	}
	if screen.found > evidence.Insufficient {
		sentences = append(sentences, sureness(screen.found))
	}
	if screen.next != "" {
		sentences = append(sentences, "To do: "+screen.next+".")
	}
	return strings.Join(sentences, " ")
}

// sureness returns how far to act on a finding.
func sureness(c evidence.Confidence) string {
	switch c {
	case evidence.Strong:
		return "Several independent signs agree: act on it."
	case evidence.Supported:
		return "That is likely, and not proven: look before acting."
	}
	return "That is a suspicion: record more before acting."
}

// gpuTime writes time of GPUs, ns.
func gpuTime(ns float64) string {
	if hours := ns / 3.6e12; hours >= 0.1 {
		return threeDigits(hours) + " GPU hours"
	}
	return threeDigits(ns/1e9) + " GPU seconds"
}

// threeDigits writes a number of a person's size.
func threeDigits(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}
