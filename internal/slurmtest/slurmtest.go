// Package slurmtest starts a Slurm of one node, on which tests submit jobs.
package slurmtest

import (
	"bufio"
	_ "embed"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

//go:embed cluster.sh
var script []byte

// Accounting is the line of a cluster that keeps what is known of a job after its end.
const Accounting = "AccountingStorageType=accounting_storage/slurmdbd"

// Start starts a cluster on this machine that the programs of Slurm find, or skips the test.
// It ends with the test. Its slurm.conf has these lines too.
func Start(t *testing.T, lines ...string) {
	t.Helper()
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	programs := []string{"munged", "slurmctld", "slurmd", "sbatch", "python3", "bash"}
	if slices.Contains(lines, Accounting) {
		programs = append(programs, "slurmdbd", "mariadbd")
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("NOT RUN: %s is not installed: apt-get install slurmctld slurmd slurm-client munge", program)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "cluster.sh")
	if err := os.WriteFile(path, script, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", append([]string{path, dir}, lines...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, cmd, in) })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Skipf("NOT RUN: no cluster can be started here (%q, %v)", line, err)
	}
	t.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
}

// end ends the cluster, which it does when its standard input does.
func end(t *testing.T, cmd *exec.Cmd, in io.Closer) {
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Logf("the cluster ended with %v", err)
	}
}
