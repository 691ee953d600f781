package cudameasure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
)

// The ways a run can fail, beside those of Devices. Errors of Run wrap one of them, or are the
// context's.
var (
	ErrNoPython  = errors.New("no Python with torch and memshim (MEMSPEC_PYTHON names one)")
	ErrNoPretend = errors.New("no pretend GPU here")
	ErrCase      = errors.New("the case cannot be built")
	ErrNothing   = errors.New("there is nothing to run")
	ErrModel     = errors.New("the model fails")
)

// RunError is a case that was not measured. Kind is ErrNoPython, ErrNoDevice, ErrNoPretend,
// ErrCase, ErrNothing, ErrModel or ErrHangs.
type RunError struct {
	Case string
	Kind error
	Said string
}

func (e *RunError) Error() string { return e.Case + ": " + e.Why() }

// Why is the error without the case's name.
func (e *RunError) Why() string {
	if e.Said == "" {
		return e.Kind.Error()
	}
	return fmt.Sprintf("%v: %s", e.Kind, e.Said)
}

func (e *RunError) Unwrap() error { return e.Kind }

// Sampled is the memory in use on a device, by all processes, while a case ran.
type Sampled struct {
	UUID         string
	Before, Most units.Bytes
	Samples      int
}

// Rise is how much more the device had in use than before.
func (s *Sampled) Rise() units.Bytes { return s.Most - s.Before }

// Run measures a case on this machine's GPU: python -m memshim measure in a fresh process, device
// memory sampled beside it. Without a GPU it is ErrNoDevice.
func (t *Tools) Run(ctx context.Context, c spec.Case) (*Measurement, error) {
	return t.run(ctx, &c, recording.OnCUDA)
}

// RunPretended runs a case on a pretend GPU of its device: PyTorch's own allocator, and no GPU.
// ErrNoPretend where there can be none.
func (t *Tools) RunPretended(ctx context.Context, c spec.Case) (*Measurement, error) {
	return t.run(ctx, &c, recording.OnPretend)
}

// RunOnCPU records a case on CPU tensors: its sizes and lifetimes, to be compared with no
// allocator's numbers.
func (t *Tools) RunOnCPU(ctx context.Context, c spec.Case) (*Measurement, error) {
	return t.run(ctx, &c, recording.OnCPU)
}

func (t *Tools) run(ctx context.Context, c *spec.Case, where recording.Where) (*Measurement, error) {
	if t.Python == "" {
		return nil, &RunError{Case: c.Name, Kind: ErrNoPython, Said: "got no python3 on PATH"}
	}
	request, err := Request(c)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "cudameasure-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "record.json")
	limit, whole := t.limits(where)
	j := job{path: t.Python, args: []string{"-m", "memshim", "measure", "--request", "-", "--output", file, "--where",
		string(where),
		"--timeout", strconv.FormatFloat(limit.Seconds(), 'f', -1, 64)}, env: t.environment(c, os.Environ()),
		stdin: request, limit: whole}
	stop := func() map[string]*Sampled { return nil }
	if where == recording.OnCUDA {
		stop = t.sample(ctx)
	}
	out, err := j.run(ctx)
	seen := stop()
	if err != nil {
		return nil, runFailed(c.Name, err, out)
	}
	if out.status != 0 && shimLate(out) {
		return nil, &RunError{Case: c.Name, Kind: ErrHangs, Said: fmt.Sprintf("%v of %s", errTimeout, limit)}
	}
	if out.status != 0 {
		return nil, &RunError{Case: c.Name, Kind: runError(out, where), Said: shimSaid(out)}
	}
	m, err := Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &RunError{Case: c.Name, Kind: ErrModel,
			Said: "the process ended without a record, as after os._exit(0)"}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: memshim's record: %w", c.Name, err)
	}
	m.File = ""
	if m.Case != c.Name || m.Where != where {
		return nil, fmt.Errorf("got a record of %q on %s, want %q on %s", m.Case, m.Where, c.Name, where)
	}
	m.Sampled = mostRisen(seen)
	if t.Device != "" {
		m.Sampled = seen[t.Device]
	}
	return m, nil
}

// limits are the time that a run has, and that its process has with what it takes besides: on a GPU
// also the wait until that is free.
func (t *Tools) limits(where recording.Where) (run, process time.Duration) {
	run = cmp.Or(t.Limit, DefaultLimit)
	process = run + startAndEnd
	if where == recording.OnCUDA {
		process += cmp.Or(t.Wait, DefaultWait)
	}
	return run, process
}

// startAndEnd is what a process may take besides: PyTorch is imported, and memshim ends a run that
// is late by itself.
const startAndEnd = time.Minute

// shimLate says whether memshim ended a run because its time was up: Python's faulthandler says so,
// before the stacks.
func shimLate(out output) bool {
	return strings.HasPrefix(out.stderr, "Timeout (") || strings.Contains(out.stderr, "\nTimeout (")
}

// memshim's statuses.
const (
	shimModel  = 1
	shimUsage  = 2
	shimUnsure = 3
	shimTorch  = 4 // there is no PyTorch
	shimNoRun  = 5 // the case says nothing that could be run
)

func runError(out output, where recording.Where) error {
	switch {
	case out.status == shimTorch, strings.Contains(out.stderr, "No module named memshim"):
		return ErrNoPython
	case out.status == shimUnsure && where == recording.OnPretend:
		return ErrNoPretend
	case out.status == shimUnsure:
		return ErrNoDevice
	case out.status == shimUsage:
		return ErrCase
	case out.status == shimNoRun:
		return ErrNothing
	}
	return ErrModel
}

func runFailed(name string, err error, out output) error {
	switch {
	case errors.Is(err, errTimeout):
		return &RunError{Case: name, Kind: ErrHangs, Said: err.Error()}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case out.status < 0 && out.stderr == "" && out.stdout == "" && errors.Is(err, os.ErrNotExist):
		return &RunError{Case: name, Kind: ErrNoPython, Said: err.Error()}
	}
	return &RunError{Case: name, Kind: ErrModel, Said: strings.TrimSpace(err.Error() + " " + shimSaid(out))}
}

// shimSaid is memshim's own line where it has one, else the last: Python's tracebacks end with the
// error.
func shimSaid(out output) string {
	lines := strings.Split(strings.TrimSpace(out.stderr), "\n")
	for _, line := range slices.Backward(lines) { // a model may print what it likes before
		if said, ok := strings.CutPrefix(line, "memshim: "); ok {
			return said
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

// environment is that of the process that measures: PyTorch reads the allocator's settings when it
// starts, and the case says all of them.
func (t *Tools) environment(c *spec.Case, given []string) []string {
	said := []string{"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "CUBLAS_WORKSPACE_CONFIG",
		"PYTORCH_NO_CUDA_MEMORY_CACHING", "TORCH_CUDNN_V8_API_DISABLED",
		"TORCH_CUDNN_USE_HEURISTIC_MODE_B"}
	if t.Device != "" {
		said = append(said, "CUDA_VISIBLE_DEVICES")
	}
	var env []string
	for _, e := range given {
		name, _, _ := strings.Cut(e, "=")
		if !slices.Contains(said, name) {
			env = append(env, e)
		}
	}
	if t.Device != "" {
		env = append(env, "CUDA_VISIBLE_DEVICES="+t.Device)
	}
	if t.Binary != "" && !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "MEMSPEC=") }) {
		env = append(env, "MEMSPEC="+t.Binary)
	}
	if c.Platform.AllocConf != "" {
		env = append(env, "PYTORCH_CUDA_ALLOC_CONF="+c.Platform.AllocConf)
	}
	if config := c.Platform.CublasConfig(); config != "" {
		env = append(env, "CUBLAS_WORKSPACE_CONFIG="+config)
	}
	if c.Platform.CuDNNv7 {
		env = append(env, "TORCH_CUDNN_V8_API_DISABLED=1")
	}
	return env
}

// Request is a case as memshim takes it: as `memspec cases --format json` says it.
func Request(c *spec.Case) ([]byte, error) { return json.Marshal(c.JSON()) }

func flagsOf(c *spec.Case) recording.Flags {
	p := &c.Platform
	return recording.Flags{TF32Matmul: p.TF32Matmul, TF32CuDNN: p.TF32CuDNN, Benchmark: p.Benchmark,
		Deterministic: p.Deterministic, CuDNNv7: p.CuDNNv7, Attention: p.Attention.Names()}
}

func inputsOf(c *spec.Case) []string {
	out := make([]string, len(c.Inputs))
	for i, in := range c.Inputs {
		out[i] = in.String()
	}
	return out
}
