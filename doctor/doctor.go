// Package doctor says what could be recorded of a training job on a machine, what each
// recording would show, and which lines record it.
package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// Machine is what is asked about it.
type Machine struct {
	// Beside is the interpreter that a wheel put the program beside; "": none.
	Beside   string
	Getenv   func(name string) string
	LookPath func(program string) (path string, err error)
	// Reader says in a sentence by what sfstat sample reads GPUs here; nil: nothing is said.
	Reader func() string
	// Run gives what a program prints on standard output.
	Run func(program string, args ...string) ([]byte, error)
}

// Source is one kind of recording.
type Source struct {
	Name  string
	Ready bool
	Found string   // what decides that, in words
	Shows string   // what it tells of a slow job
	Lines []string // that record it here, or that are missing
}

// python is what the interpreter knows of its packages: versions, "" where one is not installed.
type python struct {
	Program  string            `json:"-"`
	Version  string            `json:"python"`
	Packages map[string]string `json:"packages"`
}

// asked are the packages by which training is done or recorded.
var asked = []string{"torch", "sfstat", "transformers", "lightning", "pytorch-lightning", "accelerate", "deepspeed", "jax", "tensorflow"}

// question imports none of them: that takes seconds.
const question = `import importlib.metadata as m, importlib.util as u, json, sys
def version(name):
    try: return m.version(name)
    except m.PackageNotFoundError: return ""
packages = {name: version(name) for name in sys.argv[1:]}
if u.find_spec("sfstat_recorder") is not None: packages["sfstat_recorder"] = "importable"
print(json.dumps({"python": "%d.%d" % sys.version_info[:2], "packages": packages}))`

// Look returns the recordings that the machine allows, the most informative first.
func (m Machine) Look() []Source {
	py, err := m.python()
	gpus := m.gpus()
	torch := py.Packages["torch"]
	each := fmt.Sprint(max(gpus, 2))
	return []Source{
		recorder(py, err, each),
		{Name: "Flight Recorder", Ready: torch != "" && gpus > 0, Found: m.flight(torch, gpus), Shows: "who is missing when the job hangs, and from which line",
			Lines: []string{"mkdir -p dumps", "export TORCH_NCCL_DUMP_ON_TIMEOUT=1 TORCH_FR_BUFFER_SIZE=20000 TORCH_NCCL_DEBUG_INFO_TEMP_FILE=$PWD/dumps/rank_", "sfstat hang dumps"}},
		{Name: "PyTorch profiler", Ready: torch != "", Found: installedVersion("PyTorch", torch), Shows: "which operator or kernel is slow, and what waits for it",
			Lines: []string{"torchrun --nproc-per-node " + each + " -m sfstat_recorder --capture -o runs/job train.py", "sfstat diagnose runs/job"}},
		m.program("Nsight Systems", "nsys", "kernels, copies and collectives on the device, by stage",
			"nsys profile -t cuda,nvtx -o rank-%q{RANK} python train.py", "nsys export --type sqlite rank-0.nsys-rep", "sfstat diagnose FOLDER"),
		{Name: "NCCL debug log", Ready: gpus > 0, Found: m.ncclLog(gpus), Shows: "communicators, rings and channels; with kernels, which link or group is slow",
			Lines: []string{"export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING,GRAPH NCCL_DEBUG_FILE=nccl.%h.%p.log", "sfstat comm FOLDER"}},
		{Name: "Monitoring", Ready: true, Found: m.monitoring(gpus), Shows: "clocks, throttling and memory errors of GPUs, load and steal of hosts, where a rank is late",
			Lines: []string{"mkdir -p runs/job && sfstat sample -o runs/job/$(hostname).prom &"}},
		m.program("Stacks", "py-spy", "where each rank stands when the job hangs", "py-spy dump --pid PID"),
	}
}

func recorder(py python, err error, each string) Source {
	s := Source{Name: "Recorder", Shows: "who is late, in which stage, after and before which line, and what it costs"}
	run := "torchrun --nproc-per-node " + each + " -m sfstat_recorder -o runs/job train.py"
	switch torch := py.Packages["torch"]; {
	case err != nil:
		s.Found = err.Error()
		s.Lines = []string{"SFSTAT_PYTHON=/path/to/the/job's/python sfstat doctor"}
		return s
	case torch == "":
		s.Found = fmt.Sprintf("Python %s (%s) without PyTorch", py.Version, py.Program)
		s.Lines = []string{"SFSTAT_PYTHON=/path/to/the/job's/python sfstat doctor"}
		if jax := py.Packages["jax"] + py.Packages["tensorflow"]; jax != "" {
			s.Found += "; JAX and TensorFlow are recorded by their profiler (XPlane)"
			s.Lines = []string{"jax.profiler.trace(\"runs/job\")", "sfstat diagnose runs/job"}
		}
		return s
	case py.Packages["sfstat_recorder"] == "":
		s.Found = fmt.Sprintf("Python %s, PyTorch %s; the recorder is not installed", py.Version, torch)
		s.Lines = []string{py.Program + " -m pip install sfstat-*.whl # of a release, or of make wheel", run, "sfstat diagnose runs/job"}
		return s
	default:
		s.Ready, s.Found = true, fmt.Sprintf("Python %s, PyTorch %s", py.Version, torch)
	}
	var by []string
	for _, name := range []string{"transformers", "lightning", "pytorch-lightning", "accelerate", "deepspeed"} {
		if v := py.Packages[name]; v != "" {
			by = append(by, name+" "+v)
		}
	}
	if by != nil {
		s.Found += ", " + strings.Join(by, ", ")
	}
	s.Lines = []string{run, "sfstat diagnose runs/job"}
	return s
}

// python asks the job's interpreter: SFSTAT_PYTHON, the one beside, or python3.
func (m Machine) python() (py python, err error) {
	name := cmp.Or(m.Getenv("SFSTAT_PYTHON"), m.Beside, "python3")
	if py.Program, err = m.LookPath(name); err != nil {
		return py, fmt.Errorf("no %s on the path: say which with SFSTAT_PYTHON", name)
	}
	out, err := m.Run(py.Program, append([]string{"-c", question}, asked...)...)
	if err == nil {
		err = json.Unmarshal(out, &py)
	}
	if err != nil {
		return py, fmt.Errorf("%s does not say what is installed: %w", py.Program, err)
	}
	return py, nil
}

// gpus counts them by nvidia-smi, a line each.
func (m Machine) gpus() int {
	path, err := m.LookPath("nvidia-smi")
	if err != nil {
		return 0
	}
	out, err := m.Run(path, "-L")
	if err != nil {
		return 0
	}
	return strings.Count(string(out), "GPU ")
}

func (m Machine) program(name, program, shows string, lines ...string) Source {
	path, err := m.LookPath(program)
	s := Source{Name: name, Ready: err == nil, Found: path, Shows: shows, Lines: lines}
	if err != nil {
		s.Found = "no " + program + " on the path"
	}
	return s
}

func (m Machine) flight(torch string, gpus int) string {
	found := installedVersion("PyTorch", torch)
	if torch != "" && gpus == 0 {
		found += ", " + countNoun(0, "GPU", "GPUs") + ": only NCCL dumps on a time-out"
	}
	for _, name := range []string{"TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DUMP_ON_TIMEOUT"} {
		if v := m.Getenv(name); v != "" {
			found += fmt.Sprintf(", %s=%s", name, v)
		}
	}
	return found
}

func (m Machine) monitoring(gpus int) string {
	found := countNoun(gpus, "GPU", "GPUs")
	if m.Reader != nil {
		found += ". " + strings.TrimSuffix(m.Reader(), ".")
	}
	return found
}

func (m Machine) ncclLog(gpus int) string {
	if v := m.Getenv("NCCL_DEBUG"); v != "" {
		return "NCCL_DEBUG=" + v + " is set here"
	}
	return countNoun(gpus, "GPU", "GPUs") + ", NCCL_DEBUG is not set here"
}

func installedVersion(what, version string) string {
	if version == "" {
		return what + " is not installed"
	}
	return what + " " + version
}

func countNoun(n int, one, many string) string {
	switch n {
	case 0:
		return "no " + one + " found by nvidia-smi"
	case 1:
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
