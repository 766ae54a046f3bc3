package nccltests

import (
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace/nccl"
)

// A node is slow if its pairs are, and no fast pair has it; where the slow pairs are not of one node, none is named.
func TestPairs(t *testing.T) {
	for name, c := range map[string]struct{ text, says, host string }{
		"a node":               {"n1,n4     49.4\nn2,n3     88.4\nn3,n4     49.3\nn1,n2     87.0\n", "n4 reaches 49.4 GB/s at most, with 2 others", "n4"},
		"just not":             {"n1 n4 66\nn2 n3 88\nn3 n4 66\nn1 n2 88\n", "the slowest pair is n1 and n4", ""},
		"a pair":               {"n1,n4 49\nn2,n3 88\nn3,n4 88\nn1,n2 87\n", "the slowest pair is n1 and n4, 49.0 GB/s", ""},
		"tested with one only": {"n1,n2 88\nn2,n3 88\nn1,n3 88\nn3,n4 40\n", "does not tell whose fault", ""},
		"alike":                {"n1,n2 88\nn2,n3 87\nn1,n3 88\nn3,n4 86\n", "each node reaches", ""},
	} {
		if !RecognisePairs([]byte(c.text)) {
			t.Errorf("%s: not recognised", name)
			continue
		}
		got := ConcludePairs([]byte(c.text))
		if len(got) != 1 || !strings.Contains(got[0].Text, c.says) || got[0].Host != c.host {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, other := range []string{"", "a b 3\n", "n1,n2 3\nn1,n3 4\nn1,n4 5\nhello\n", "step 3 4\nx y\n"} {
		if RecognisePairs([]byte(other)) {
			t.Errorf("%q is taken for pairs", other)
		}
	}
}

// Of each operation: what it reaches, and the smallest size that is nearly as fast.
func TestConclude(t *testing.T) {
	row := func(bytes int64, bus float64) nccl.Benchmark {
		return nccl.Benchmark{Op: nccl.AllReduce, Ranks: 16, Hosts: 2, Bytes: bytes, Bus: bus}
	}
	got := Conclude([]nccl.Benchmark{row(1<<20, 10), row(1<<26, 45), row(1<<28, 50), row(1<<30, 49)})
	if len(got) != 2 || !strings.Contains(got[1].Text, "--limit") || !strings.Contains(got[0].Text, "AllReduce of 16 ranks on 2 hosts reaches a bus bandwidth of 50.0 GB/s, 90 % of that from 67108864 bytes on") {
		t.Errorf("%+v", got)
	}
}

// Whatever stands in a text: no panic.
func FuzzPairs(f *testing.F) {
	f.Add("n1,n4 49.4\nn2,n3 88.4\nn3,n4 49.3\nn1,n2 87.0\n")
	f.Fuzz(func(_ *testing.T, text string) {
		if RecognisePairs([]byte(text)) {
			ConcludePairs([]byte(text))
		}
	})
}
