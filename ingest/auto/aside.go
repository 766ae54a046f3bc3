package auto

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/trace/input"
)

// AsideError lists what inputs without steps or calls show by themselves: kernel errors, conclusions of other tools,
// differences between GPUs, and channels of NCCL.
type AsideError struct{ Said []string }

// maxSaid is the number of conclusions in an error.
const maxSaid = 8

func (e *AsideError) Error() string {
	some := strings.Join(e.Said[:min(maxSaid, len(e.Said))], "; ")
	if n := len(e.Said) - maxSaid; n > 0 {
		some += fmt.Sprintf("; and %d more", n)
	}
	return fmt.Sprintf("only what other tools conclude and kernels report, without times of steps: %s. Whether it slowed the job is not shown: give it beside a recording of the job (packets, traces, logs with data_time, …)", some)
}

// Is reports whether the error is of a kind: times of steps are missing.
func (e *AsideError) Is(kind error) bool { return kind == input.ErrMissing }
