package campaign

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace"
)

// victim names the folder in which the test binary carries out a campaign, to
// be killed in the middle of it.
const victim = "SFSTAT_TEST_VICTIM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victim); dir != "" {
		beKilled(dir)
	}
	os.Exit(m.Run())
}

// beKilled makes three runs of the small campaign, says so, and hangs in the
// middle of the fourth.
func beKilled(dir string) {
	s, err := readSpec(nil, "../../fixtures/campaign/small.yaml")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	n := 0
	m := making(func(ctx context.Context, t *Task, keep func(*trace.Window) error) error {
		if n++; n == 4 {
			fmt.Println("in the middle")
			select {}
		}
		return Simulation{}.Make(ctx, t, keep)
	})
	_, err = Execute(context.Background(), dir, s, Execution{Version: "1", Maker: m, Workers: 1})
	fmt.Println(err)
	os.Exit(1)
}

// TestKilled kills an execution by SIGKILL: while it lives nobody else may work
// in its folder, and the next one goes on to the bytes of one that was never
// killed, and removes what was left half written.
func TestKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, whole := t.TempDir(), t.TempDir()
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), victim+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "in the middle\n" {
		t.Fatalf("it says %q (%v)", line, err)
	}
	if _, err := Execute(t.Context(), dir, small(t), Execution{Version: "1"}); err == nil || !strings.Contains(err.Error(), "another execution of this campaign is at work") {
		t.Errorf("a second execution beside it: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if left := files(t, dir, runsName); !strings.HasSuffix(left[0], ".tmp") {
		t.Errorf("nothing is left half written, so nothing is tested: %v", left)
	}

	if o := execute(t, dir, small(t), Execution{Version: "1"}); !cmp.Equal(o, Outcome{Made: 4, Stood: 3}) {
		t.Errorf("%+v, expected 4 made and 3 stood", o)
	}
	execute(t, whole, small(t), Execution{Version: "1"})
	if diff := cmp.Diff(contents(t, whole), contents(t, dir)); diff != "" {
		t.Errorf("never killed and killed differ:\n%s", diff)
	}
}
