package ddp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sfstat/sfstat/internal/parallel"
)

// World is the processes of a job on this machine: the same Python program
// once for each rank, which learns its place from the environment, as from
// torchrun.
type World struct {
	Python     string // interpreter; "": Python()
	PythonPath string // where its packages lie besides
	Args       []string
	Under      []string // a command that runs each rank, such as a profiler's; nil: none
	Ranks      int
}

// RankError is a rank that ended badly, the first to do so. What other ranks
// say afterwards follows from it.
type RankError struct {
	Rank, Ranks int
	Err         error  // how it ended
	Said        string // the last lines of its standard error
}

func (e *RankError) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("rank %d of %d: %v, and it wrote nothing to standard error", e.Rank, e.Ranks, e.Err)
	}
	return fmt.Sprintf("rank %d of %d: %v; the last that it wrote:\n%s", e.Rank, e.Ranks, e.Err, e.Said)
}

func (e *RankError) Unwrap() error { return e.Err }

// lingering is how long a rank that has ended may keep its output open.
const lingering = 2 * time.Second

// Run starts the ranks and waits for all. When one fails, or ctx ends, all are
// killed with what they have started.
//
// Standard input of the ranks is a pipe that nobody writes to. Its end tells
// them that this program is gone, however that came about; the job ends then.
func (w World) Run(ctx context.Context) error {
	if w.Python == "" {
		w.Python = Python()
	}
	port, err := freePort()
	if err != nil {
		return fmt.Errorf("find a free port for the ranks to rendezvous at: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var ranks parallel.Group
	defer ranks.Wait()
	for r := range w.Ranks {
		one, err := w.start(ctx, r, port)
		if err != nil {
			cancel(err)
			break
		}
		ranks.Go(func() {
			if err := one.wait(); err != nil {
				cancel(&RankError{Rank: r, Ranks: w.Ranks, Err: err, Said: one.said.String()})
			}
		})
	}
	ranks.Wait()
	return context.Cause(ctx)
}

// freePort returns a port of this machine that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// process is one rank.
type process struct {
	cmd  *exec.Cmd
	hold io.Closer // its standard input
	said *tail
}

func (w *World) start(ctx context.Context, rank, port int) (*process, error) {
	line := slices.Concat(w.Under, []string{w.Python}, w.Args)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), w.environment(rank, port)...)
	said := &tail{most: 4096}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.WaitDelay = lingering
	setProcessGroup(cmd)
	cmd.Cancel = func() error { return killAll(cmd.Process) }
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	err = cmd.Start()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("start rank %d: %w; install Python 3.8 or later and PyTorch (pip install torch), or name an interpreter that has it in SFSTAT_PYTHON", rank, err)
	}
	if err != nil {
		return nil, fmt.Errorf("start rank %d: %w", rank, err)
	}
	return &process{cmd, hold, said}, nil
}

// wait returns when the rank has ended, and ends what it left behind.
func (p *process) wait() error {
	err := p.cmd.Wait()
	_ = killAll(p.cmd.Process) // most often nobody is left
	p.hold.Close()
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // it ended well; what it left behind had its output
	}
	return err
}

// environment returns the environment of a rank as torchrun sets it. Ranks of one machine talk over the loopback device, unless
// something else is asked for: the name of the machine need not lead anywhere. One thread each, since ranks share cores.
func (w *World) environment(rank, port int) []string {
	env := []string{
		"RANK=" + strconv.Itoa(rank), "LOCAL_RANK=" + strconv.Itoa(rank), "WORLD_SIZE=" + strconv.Itoa(w.Ranks),
		"MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + strconv.Itoa(port),
		"OMP_NUM_THREADS=1", "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1", "SFSTAT_HELD_BY_STDIN=1",
	}
	if w.PythonPath != "" {
		env = append(env, "PYTHONPATH="+strings.TrimSuffix(w.PythonPath+string(os.PathListSeparator)+os.Getenv("PYTHONPATH"), string(os.PathListSeparator)))
	}
	if _, ok := os.LookupEnv("GLOO_SOCKET_IFNAME"); !ok && loopback() != "" {
		env = append(env, "GLOO_SOCKET_IFNAME="+loopback())
	}
	return env
}

// loopback returns the name of the loopback device, "" without any.
func loopback() string {
	all, err := net.Interfaces()
	if err != nil {
		return ""
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback != 0 && i.Flags&net.FlagUp != 0 {
			return i.Name
		}
	}
	return ""
}

// tail keeps the end of what is written to it.
type tail struct {
	most int // bytes
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p[max(0, len(p)-t.most):]...)
	t.kept = t.kept[max(0, len(t.kept)-t.most):]
	return len(p), nil
}

// mostLines is how many lines of a rank an error shows.
const mostLines = 12

func (t *tail) String() string {
	lines := strings.Split(strings.TrimSpace(string(t.kept)), "\n")
	return strings.Join(lines[max(0, len(lines)-mostLines):], "\n")
}
