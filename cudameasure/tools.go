package cudameasure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Tools are the programs that are asked, by path; an empty one is not there.
type Tools struct {
	Probe  string        // cudaprobe
	SMI    string        // nvidia-smi
	Python string        // with torch and memshim
	Binary string        // memspec, for memshim to ask; empty where it is to look for itself
	Device string        // the GPU that a case is run on, by UUID; empty for the first that PyTorch sees
	Answer time.Duration // how long a question about devices may take; 0 is DefaultAnswer
	Limit  time.Duration // how long a run may take, from when it has the GPU; 0 is DefaultLimit
	Wait   time.Duration // how long others may hold the GPU before that; 0 is DefaultWait
}

// The time limits where nothing is said. A driver that has to load its modules first takes seconds.
const (
	DefaultAnswer = 30 * time.Second
	DefaultLimit  = 30 * time.Minute
	DefaultWait   = 6 * time.Hour
)

// FromEnvironment finds the programs: cudaprobe by the variable MEMSPEC_CUDAPROBE, then beside this
// program, then on PATH; Python by MEMSPEC_PYTHON, then python3 or python on PATH; nvidia-smi on
// PATH.
func FromEnvironment() Tools {
	t := Tools{Probe: os.Getenv("MEMSPEC_CUDAPROBE"), Python: os.Getenv("MEMSPEC_PYTHON")}
	if t.Probe == "" {
		t.Probe = firstOf(beside("cudaprobe"), "cudaprobe")
	}
	if t.Python == "" {
		t.Python = firstOf("python3", "python")
	}
	t.SMI = firstOf("nvidia-smi")
	return t
}

func beside(name string) string {
	self, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(self), name)
}

// firstOf is the path of the first of the names that can be run.
func firstOf(names ...string) string {
	for _, n := range names {
		if p, err := exec.LookPath(n); err == nil {
			return p
		}
	}
	return ""
}

// output is what a child said, and the status it ended with.
type output struct {
	stdout, stderr string
	status         int
}

func (o *output) firstLine() string {
	for _, text := range []string{o.stderr, o.stdout} {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				return line
			}
		}
	}
	return ""
}

// errTimeout is a child that was ended because its time was up.
var errTimeout = errors.New("ended after its time limit")

// A job is a child process.
type job struct {
	path  string
	args  []string
	env   []string
	stdin []byte
	limit time.Duration
}

// run waits for a child. A status other than 0 is no error here.
func (j *job) run(ctx context.Context) (output, error) {
	limited, cancel := context.WithTimeoutCause(ctx, j.limit, errTimeout)
	defer cancel()
	cmd := exec.CommandContext(limited, j.path, j.args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = bytes.NewReader(j.stdin), &stdout, &stderr, j.env
	endGroup(cmd)
	cmd.WaitDelay = time.Second // a grandchild may hold the pipes
	err := cmd.Run()
	out := output{stdout: stdout.String(), stderr: stderr.String(), status: cmd.ProcessState.ExitCode()}
	if limited.Err() != nil && err != nil {
		if cause := context.Cause(limited); !errors.Is(cause, errTimeout) {
			return out, cause
		}
		return out, fmt.Errorf("%s: %w of %s", filepath.Base(j.path), errTimeout, j.limit)
	}
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		if out.status < 0 {
			return out, fmt.Errorf("%s: %w", filepath.Base(j.path), err)
		}
		return out, nil
	}
	return out, err
}

// ask is a question about devices. All of them are seen, in the order of nvidia-smi.
func (t *Tools) ask(ctx context.Context, path string, args ...string) (output, error) {
	j := job{path: path, args: args, env: unhidden(), limit: t.Answer}
	if j.limit == 0 {
		j.limit = DefaultAnswer
	}
	return j.run(ctx)
}

// unhidden is the environment in which every device is seen.
func unhidden() []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "CUDA_VISIBLE_DEVICES=") && !strings.HasPrefix(e, "CUDA_DEVICE_ORDER=") {
			env = append(env, e)
		}
	}
	return append(env, "CUDA_DEVICE_ORDER=PCI_BUS_ID", "LC_ALL=C")
}
