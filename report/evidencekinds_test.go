package report

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/publish"
)

// TestEvidenceIsWorded: package report has a sentence for every kind that package
// evidence declares, and there are as many kinds, reasons and questions as a reader can
// take in.
func TestEvidenceIsWorded(t *testing.T) {
	const mostKinds, mostReasons, mostQuestions = 42, 25, 15
	files, err := filepath.Glob("../diagnose/evidence/*.go")
	if err != nil {
		t.Fatal(err)
	}
	worded := map[string]bool{}
	for _, e := range publish.Observations() {
		worded[string(e.Kind())] = true
	}
	declared := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\) Kind\(\) Kind\s*\{\s*return "(\w+)"`).FindAllSubmatch(source, -1) {
			if declared++; !worded[string(m[1])] {
				t.Errorf("%s: %s has no sentence", file, m[1])
			}
		}
	}
	if declared != len(worded) || declared > mostKinds {
		t.Errorf("%d kinds are declared and %d worded, expected the same number, at most %d", declared, len(worded), mostKinds)
	}
	if n := len(evidence.Reason("").Names()); n > mostReasons {
		t.Errorf("%d reasons, expected at most %d", n, mostReasons)
	}
	if n := len(answer.Question("").Names()); n > mostQuestions {
		t.Errorf("%d questions, expected at most %d", n, mostQuestions)
	}
}
