package nccl

import "testing"

func TestLinkNames(t *testing.T) {
	for l := LOC; l < numLinks; l++ {
		if got := ParseLink(l.String()); got != l {
			t.Errorf("%s reads as %s", l, got)
		}
	}
	for _, name := range []string{"", "NV", "?", "nvl"} {
		if got := ParseLink(name); got != UnknownLink {
			t.Errorf("%q reads as %s", name, got)
		}
	}
	if got := Link(200).String(); got != "invalid(200)" {
		t.Errorf("link 200 is called %s", got)
	}
}
