package auto

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/trace/input"
)

// AsideError is of inputs without steps or calls of ranks that show something by themselves: what kernels report, other tools conclude, in
// what GPUs differ, and over what NCCL's channels go.
type AsideError struct{ Said []string }

// mostSaid is how many of these an error says.
const mostSaid = 8

func (e *AsideError) Error() string {
	some := strings.Join(e.Said[:min(mostSaid, len(e.Said))], "; ")
	if n := len(e.Said) - mostSaid; n > 0 {
		some += fmt.Sprintf("; and %d more", n)
	}
	return fmt.Sprintf("only what other tools conclude and kernels report, without times of steps: %s. Whether it slowed the job is not shown: give it beside a recording of the job (packets, traces, logs with data_time, …)", some)
}

// Is reports whether the error is of a kind: times of steps are missing.
func (e *AsideError) Is(kind error) bool { return kind == input.ErrMissing }
