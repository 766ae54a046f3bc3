package doctor

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// machine is one with these programs and packages; a program without an answer fails.
func machine(programs map[string]string, env map[string]string) Machine {
	return Machine{
		Getenv: func(name string) string { return env[name] },
		LookPath: func(name string) (string, error) {
			if _, ok := programs[name]; !ok {
				return "", exec.ErrNotFound
			}
			return "/bin/" + name, nil
		},
		Run: func(program string, args ...string) ([]byte, error) {
			if answer := programs[strings.TrimPrefix(program, "/bin/")]; answer != "" {
				return []byte(answer), nil
			}
			return nil, errors.New("killed")
		},
	}
}

// TestBeside: the interpreter of the environment that the program is in is asked before that of the path, and after a named one.
func TestBeside(t *testing.T) {
	m := machine(map[string]string{"python3": "{}", "own": `{"python":"3.12"}`, "named": `{"python":"3.13"}`}, map[string]string{})
	m.Beside = "own"
	if found := m.Look()[0].Found; !strings.Contains(found, "Python 3.12 (/bin/own)") {
		t.Error(found)
	}
	m.Getenv = func(string) string { return "named" }
	if found := m.Look()[0].Found; !strings.Contains(found, "Python 3.13 (/bin/named)") {
		t.Error(found)
	}
}

// TestReader: by what GPUs are sampled is said where it is known.
func TestReader(t *testing.T) {
	m := machine(map[string]string{"nvidia-smi": "GPU 0: H100\nGPU 1: H100\n"}, nil)
	monitoring := func() string {
		list := m.Look()
		return list[slices.IndexFunc(list, func(s Source) bool { return s.Name == "Monitoring" })].Found
	}
	if found := monitoring(); found != "2 GPUs" {
		t.Errorf("%q, expected the number of GPUs alone", found)
	}
	m.Reader = func() string { return "This program reads GPUs by NVML (driver 580.95.05)." }
	if found := monitoring(); found != "2 GPUs. This program reads GPUs by NVML (driver 580.95.05)" {
		t.Error(found)
	}
}

// TestLook: what is there decides what can be recorded, and how.
func TestLook(t *testing.T) {
	const torch = `{"python":"3.11","packages":{"torch":"2.9.1","sfstat_recorder":"importable","lightning":"2.5"}}`
	for name, tt := range map[string]struct {
		programs, env map[string]string
		source        string
		ready         bool
		found, line   string // of them
	}{
		"all":                 {map[string]string{"python3": torch}, nil, "Recorder", true, "PyTorch 2.9.1, lightning 2.5", "-m sfstat_recorder -o"},
		"as many as GPUs":     {map[string]string{"python3": torch, "nvidia-smi": "GPU 0: H100\nGPU 1: H100\n"}, nil, "Recorder", true, "", "--nproc-per-node 2 "},
		"another interpreter": {map[string]string{"py": torch}, map[string]string{"SFSTAT_PYTHON": "py"}, "Recorder", true, "", ""},
		"no recorder":         {map[string]string{"python3": `{"python":"3.11","packages":{"torch":"2.9.1"}}`}, nil, "Recorder", false, "not installed", "pip install sfstat-*.whl"},
		"no PyTorch":          {map[string]string{"python3": `{"python":"3.8","packages":{"jax":"0.5"}}`}, nil, "Recorder", false, "without PyTorch; JAX", "jax.profiler"},
		"no Python":           {nil, nil, "Recorder", false, "no python3 on the path", "SFSTAT_PYTHON="},
		"a Python that fails": {map[string]string{"python3": ""}, nil, "Recorder", false, "does not say what is installed: killed", ""},
		"a Python that lies":  {map[string]string{"python3": "{"}, nil, "Recorder", false, "does not say what is installed", ""},
		"two of none":         {map[string]string{"python3": torch}, nil, "Recorder", true, "", "--nproc-per-node 2 "},
		"no dumps of Gloo":    {map[string]string{"python3": torch}, nil, "Flight Recorder", false, "only NCCL dumps", "mkdir -p dumps"},
		"a ring that is set":  {map[string]string{"python3": torch, "nvidia-smi": "GPU 0: H100\n"}, map[string]string{"TORCH_FR_BUFFER_SIZE": "9"}, "Flight Recorder", true, "TORCH_FR_BUFFER_SIZE=9", "sfstat hang"},
		"NCCL without GPUs":   {nil, nil, "NCCL debug log", false, "no GPU", "NCCL_DEBUG=INFO"},
		"NCCL":                {map[string]string{"nvidia-smi": "GPU 0: H100\n"}, map[string]string{"NCCL_DEBUG": "WARN"}, "NCCL debug log", true, "NCCL_DEBUG=WARN", "SUBSYS=INIT,COLL"},
		"no profiler":         {nil, nil, "Nsight Systems", false, "no nsys", "nsys export"},
		"a profiler":          {map[string]string{"nsys": ""}, nil, "Nsight Systems", true, "/bin/nsys", ""},
	} {
		t.Run(name, func(t *testing.T) {
			list := machine(tt.programs, tt.env).Look()
			s := list[slices.IndexFunc(list, func(s Source) bool { return s.Name == tt.source })]
			if s.Ready != tt.ready || !strings.Contains(s.Found, tt.found) || !strings.Contains(strings.Join(s.Lines, "\n"), tt.line) {
				t.Errorf("%+v", s)
			}
			for _, s := range list {
				if s.Shows == "" || s.Found == "" {
					t.Errorf("%+v says nothing", s)
				}
			}
		})
	}
}
