package otlp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// TestBacklog: requests come in order, the last ones are kept while the collector is down, and what it refuses
// for good does not hold back the others.
func TestBacklog(t *testing.T) {
	var got []string
	down := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		switch {
		case down:
			w.WriteHeader(http.StatusServiceUnavailable)
		case string(body) == "7":
			w.WriteHeader(http.StatusBadRequest)
		default:
			got = append(got, string(body))
		}
	}))
	defer server.Close()
	to, err := New(server.URL, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	var b Backlog
	for i := range MostWaiting + 5 {
		if room := b.Add([]byte(strconv.Itoa(i))); room != (i < MostWaiting) {
			t.Errorf("request %d: room %v", i, room)
		}
	}
	if err := b.Send(t.Context(), to, "logs"); !Unavailable(err) || !strings.Contains(err.Error(), "answers 503") {
		t.Errorf("down: %v", err)
	}
	down = false
	if err := b.Send(t.Context(), to, "logs"); err == nil || Unavailable(err) || !strings.Contains(err.Error(), "answers 400") {
		t.Errorf("a request is refused: %v", err)
	}
	if len(got) != MostWaiting-1 || got[0] != "5" || got[2] != "8" || got[len(got)-1] != strconv.Itoa(MostWaiting+4) {
		t.Errorf("received %d: %v", len(got), got)
	}
	if err := b.Send(t.Context(), to, "logs"); err != nil || len(got) != MostWaiting-1 {
		t.Errorf("nothing waits, and %v is sent, %v", got, err)
	}
}
