package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPrometheus: a real Prometheus takes what serve says, its rules hold, and each panel of
// the dashboard shows something.
func TestPrometheus(t *testing.T) {
	for _, name := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("NOT RUN: ", err, " (Debian: apt-get install prometheus)")
		}
	}
	examples := filepath.Join(root, "examples", "prometheus")
	if out, err := exec.Command("promtool", "test", "rules", filepath.Join(examples, "alerts_test.yml")).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	address, stop := startServe(t, filepath.Join(root, "fixtures", "ddp"))
	defer stop()
	metrics := fetched(t, address+"metrics")
	check := exec.Command("promtool", "check", "metrics")
	check.Stdin = strings.NewReader(metrics)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v: %s\n%s", err, out, metrics)
	}

	dir := t.TempDir()
	config, err := os.ReadFile(filepath.Join(examples, "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	at, _ := url.Parse(address)
	rules, err := filepath.Abs(filepath.Join(examples, "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("127.0.0.1:8080", at.Host, "15s", "1s", "[alerts.yml]", "["+rules+"]").Replace(string(config))
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	own := free.Addr().String()
	_ = free.Close()
	server := exec.Command("prometheus", "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", own)
	said := &strings.Builder{}
	server.Stdout, server.Stderr = said, said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	ask := func(expression string) (n int) {
		answer, err := http.Get("http://" + own + "/api/v1/query?query=" + url.QueryEscape(expression))
		if err != nil {
			return 0
		}
		defer answer.Body.Close()
		var v struct {
			Data struct{ Result []any }
		}
		if err := json.NewDecoder(answer.Body).Decode(&v); err != nil {
			return 0
		}
		return len(v.Data.Result)
	}
	shown := func(expression string) bool {
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if ask(expression) > 0 {
				return true
			}
		}
		return false
	}
	if !shown("sfstat_runs") {
		t.Fatalf("nothing was scraped:\n%s", said)
	}
	if !shown(`ALERTS{alertname="TrainingStraggler",rank="2",stage="callbacks.cpu_wall"}`) {
		t.Error("no alert is pending for a run with a straggler")
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	b, err := os.ReadFile(filepath.Join(examples, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &dashboard); err != nil {
		t.Fatal(err)
	}
	if len(dashboard.Panels) == 0 {
		t.Error("the dashboard has no panels")
	}
	for _, p := range dashboard.Panels {
		for _, x := range p.Targets {
			if !shown(strings.ReplaceAll(x.Expr, "$run", ".*")) {
				t.Errorf("%s: nothing for %s", p.Title, x.Expr)
			}
		}
	}
}

func fetched(t *testing.T, address string) string {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
