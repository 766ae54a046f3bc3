package flightrecorder

import "testing"

// TestRecognise: a dump is told by its keys, in JSON and in pickles of any protocol,
// and not by words that other files have too.
func TestRecognise(t *testing.T) {
	for _, c := range []struct {
		name, head string
		want       bool
	}{
		{"JSON", `{"version": "2.4", "nccl_version": "2.21.5", "entries": []}`, true},
		{"JSON with its groups first", ` {"pg_config": {}`, true},
		{"pickle of protocol 2", "\x80\x02}q\x00(X\x07\x00\x00\x00versionq\x01X\x03\x00\x00\x002.4q\x02X\x0c\x00\x00\x00nccl_version", true},
		{"pickle of protocol 4", "\x80\x04\x95}\x94(\x8c\x07version\x94\x8c\x032.4\x94\x8c\x0cnccl_version", true},
		{"JSON that names the version of NCCL", `{"scenario": "healthy", "nccl_version": "2.28.9"}`, false},
		{"a profiler trace", `{"schemaVersion": 1, "distributedInfo": {"pg_config": []}`, false},
		{"another pickle", "\x80\x04\x95}\x94\x8c\x05model", false},
		{"text", "nccl_version and \"version\"", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Recognise([]byte(c.head)); got != c.want {
				t.Errorf("%v, expected %v", got, c.want)
			}
		})
	}
}
