package main

import (
	"runtime/debug"
	"testing"
)

func TestBuildVersion(t *testing.T) {
	vcs := func(modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}, {Key: "vcs.modified", Value: modified}}}
	}
	cases := []struct {
		name, stamp string
		info        *debug.BuildInfo
		want        string
	}{
		{"stamp wins", "v1.2.3-4-gabc", vcs("false"), "v1.2.3-4-gabc"},
		{"go install", "", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3"},
		{"checkout", "", vcs("false"), "devel-0123456789ab"},
		{"changed checkout", "", vcs("true"), "devel-0123456789ab-dirty"},
		{"no version control", "", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "devel"},
		{"nothing known", "", nil, "unknown"},
	}
	for _, c := range cases {
		if got := buildVersion(c.stamp, c.info); got != c.want {
			t.Errorf("%s: %q, expected %q", c.name, got, c.want)
		}
	}
}
