package cudameasure

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
)

// shim is a stub for Python: $out is where the record goes, and the request is on standard input.
func shim(t *testing.T, body string) string {
	return script(t, `out=; prev=; for a in "$@"; do [ "$prev" != --output ] || out=$a; prev=$a; done`+"\n"+body)
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(records, name))
	require.NoError(t, err)
	return path
}

// A run needs a folder for its record; without one nothing is started.
func TestRunWithoutAFolder(t *testing.T) {
	tools := Tools{Python: shim(t, "exit 0")}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	m, err := tools.RunOnCPU(t.Context(), spec.Case{Name: "m"})
	assert.Nil(t, m)
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func TestRunReadsTheRecord(t *testing.T) {
	dir := t.TempDir()
	tools := Tools{Python: shim(t,
		fmt.Sprintf(`echo "$@" >'%[1]s/args'; cat >'%[1]s/request'; env >'%[1]s/env'; cp '%[2]s' "$out"`, dir,
			fixture(t, "small.json")))}
	t.Setenv("PYTORCH_CUDA_ALLOC_CONF", "the machine's own")
	t.Setenv("CUBLAS_WORKSPACE_CONFIG", "the machine's own")
	c := smallCase(t)
	c.Platform.AllocConf, c.Platform.Deterministic = "expandable_segments:True", true
	m, err := tools.Run(context.Background(), *c)
	require.NoError(t, err)
	assert.Equal(t, record(t, "small").Passes, m.Passes)
	assert.Nil(t, m.Sampled, "no nvidia-smi, no samples")

	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return string(b)
	}
	assert.Regexp(t, `^-m memshim measure --request - --output \S+ --where cuda --timeout 1800\n$`, read("args"))
	assert.Contains(t, read("env"), "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n")
	assert.Contains(t, read("env"), "CUBLAS_WORKSPACE_CONFIG=:4096:8\n")
	assert.NotContains(t, read("env"), "the machine's own")
	var request map[string]any
	require.NoError(t, json.Unmarshal([]byte(read("request")), &request))
	assert.Equal(t, "small[B=2]", request["name"])
	assert.Equal(t, []any{"x=float32[2,1024,512]"}, request["inputs"])
}

func TestRunFails(t *testing.T) {
	wrong := strings.Replace(fixture(t, "small.json"), "small.json", "cpu.json", 1)
	for _, c := range []struct {
		name, body string
		kind       error
		want       string
	}{
		{"no GPU", `echo "memshim: a GPU is required, and PyTorch finds none here" >&2; exit 3`, ErrNoDevice,
			"small[B=2]: no CUDA device: a GPU is required, and PyTorch finds none here"},
		{"a case that cannot be built", `echo "memshim: zoo.py: no such file" >&2; exit 2`, ErrCase,
			"small[B=2]: the case cannot be built: zoo.py: no such file"},
		{"the model's error", `echo Traceback >&2; echo "memshim: ValueError: no" >&2; exit 1`, ErrModel,
			"small[B=2]: the model fails: ValueError: no"},
		{"a signal", `kill -SEGV $$`, ErrModel, "small[B=2]: the model fails: program: signal: segmentation fault"},
		{"no memshim", `echo "/usr/bin/python3: No module named memshim" >&2; exit 1`, ErrNoPython,
			"small[B=2]: no Python with torch and memshim (MEMSPEC_PYTHON names one): " +
				"/usr/bin/python3: No module named memshim"},
		{"one that hangs", `echo 'Timeout (0:00:00.3)!' >&2; echo 'Thread 0x1 (most recent call first):' >&2; exit 1`,
			ErrHangs,
			"small[B=2]: no answer in time: ended after its time limit of 300ms"},
		{"no torch", `echo "memshim: got no torch, want PyTorch installed" >&2; exit 4`, ErrNoPython,
			"small[B=2]: no Python with torch and memshim (MEMSPEC_PYTHON names one): got no torch, want PyTorch installed"},
		{"no record", `exit 0`, ErrModel, "small[B=2]: the model fails: the process ended without a record, as after " +
			"os._exit(0)"},
		{"no record but something", `echo '{}' >"$out"`, nil, "got no measurement record of schema 1"},
		{"another place's record", `cp '` + wrong + `' "$out"`, nil,
			`got a record of "small[B=2]" on cpu, want "small[B=2]" on cuda`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools := Tools{Python: shim(t, c.body), Limit: 300 * time.Millisecond}
			if c.kind != ErrHangs {
				tools.Limit = time.Minute
			}
			_, err := tools.Run(context.Background(), *smallCase(t))
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.want)
			var typed *RunError
			if c.kind != nil {
				require.ErrorAs(t, err, &typed)
				assert.ErrorIs(t, err, c.kind)
			}
		})
	}
	tools := Tools{}
	_, err := tools.Run(context.Background(), *smallCase(t))
	assert.ErrorIs(t, err, ErrNoPython)
	tools.Python = filepath.Join(t.TempDir(), "python")
	_, err = tools.Run(context.Background(), *smallCase(t))
	assert.ErrorIs(t, err, ErrNoPython)
}

// On a machine with several GPUs the case's own is the one that PyTorch sees, and whose memory is
// reported.
func TestRunOnOneOfSeveralGPUs(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CUDA_VISIBLE_DEVICES", "the machine's own")
	smi := fakeSMI(t,
		fmt.Sprintf(
			`if [ -f '%s/running' ]; then echo "GPU-a, 900"; echo "GPU-b, 410"; else echo "GPU-a, 180"; echo "GPU-b, 100"; fi`,
			dir))
	tools := Tools{SMI: smi, Device: "GPU-b",
		Python: shim(t, fmt.Sprintf(`: >'%[1]s/running'; sleep 1; env >'%[1]s/env'; cp '%[2]s' "$out"`, dir,
			fixture(t, "small.json")))}
	m, err := tools.Run(context.Background(), *smallCase(t))
	require.NoError(t, err)
	env, err := os.ReadFile(filepath.Join(dir, "env"))
	require.NoError(t, err)
	assert.Contains(t, string(env), "CUDA_VISIBLE_DEVICES=GPU-b\n")
	assert.Equal(t, "GPU-b", m.Sampled.UUID, "though another rose more")
	assert.Equal(t, 310*MiB, m.Sampled.Rise())
}

// fakeSMI is an nvidia-smi that says what body says, again and again where it is asked to (-lms).
// It keeps an account of how often it was started.
func fakeSMI(t *testing.T, body string) string {
	return script(t, `printf x >>"$0.started"; while :; do `+body+`
case "$*" in *-lms*) sleep 0.05;; *) break;; esac; done`)
}

// Memory of the device is sampled while the case runs: here it rises when the run begins and falls
// before it ends.
func TestDeviceMemoryIsSampled(t *testing.T) {
	dir := t.TempDir()
	smi := fakeSMI(t,
		fmt.Sprintf(
			`if [ -f '%[1]s/running' ]; then echo "GPU-a, 500"; echo "GPU-b, 110"; else echo "GPU-a, 180"; echo "GPU-b, 100"; fi
echo "GPU-c, [N/A]"`, dir))
	tools := Tools{SMI: smi,
		Python: shim(t, fmt.Sprintf(`: >'%[1]s/running'; sleep 1; rm '%[1]s/running'; sleep 0.5; cp '%[2]s' "$out"`, dir,
			fixture(t, "small.json")))}
	m, err := tools.Run(context.Background(), *smallCase(t))
	require.NoError(t, err)
	require.NotNil(t, m.Sampled)
	assert.Equal(t, "GPU-a", m.Sampled.UUID, "the device that rose the most")
	assert.Equal(t, []units.Bytes{180 * MiB, 500 * MiB, 320 * MiB}, []units.Bytes{m.Sampled.Before, m.Sampled.Most,
		m.Sampled.Rise()})
	assert.Greater(t, m.Sampled.Samples, 1)
	asked, err := os.ReadFile(smi + ".started")
	require.NoError(t, err)
	assert.Equal(t, "x", string(asked), "one process reports all the time")
	m.Context = nil
	cost, ok := m.ContextCost()
	assert.True(t, ok)
	assert.Equal(t, 300*MiB, cost, "what rose, less the allocator's 20 MiB")
}

// The shim itself, on CPU tensors.
func TestRunOnCPU(t *testing.T) {
	python, err := filepath.Abs("../.venv/bin/python")
	require.NoError(t, err)
	if _, err := os.Stat(python); err != nil {
		t.Skip("no .venv: make python")
	}
	if os.Getenv("MEMSPEC_PYTHON_TESTS") == "" { // the default run needs no Python and stays short
		t.Skip("runs PyTorch: MEMSPEC_PYTHON_TESTS=1 go test ./cudameasure")
	}
	if testing.Short() {
		t.Skip("-short: PyTorch takes seconds to import")
	}
	src, err := filepath.Abs("../pyshim/src")
	require.NoError(t, err)
	t.Setenv("PYTHONPATH", src)
	c := smallCase(t)
	c.Dir, c.Source, c.Artifact = t.TempDir(), "model.py:Model", ""
	require.NoError(t, os.WriteFile(filepath.Join(c.Dir, "model.py"), []byte(`import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(512))

    def forward(self, x):
        print("whatever the model prints")
        return torch.relu(x * self.weight)
`), 0o644))
	in, err := spec.ParseInput("x=float32[2,1024,512]")
	require.NoError(t, err)
	c.Inputs = []spec.Input{in}
	tools := Tools{Python: python, Limit: 5 * time.Minute}
	m, err := tools.RunOnCPU(context.Background(), *c)
	require.NoError(t, err)
	assert.Equal(t, recording.OnCPU, m.Where)
	const x, w = 4 * MiB, 2 * units.KiB
	assert.Equal(t, w, m.Weights)
	require.Len(t, m.Passes, 3)
	assert.Equal(t, []units.Bytes{x + w, 3*x + w, 3*x + w}, []units.Bytes{m.Passes[0].Requested, m.Passes[1].Requested,
		m.Passes[2].Requested},
		"x and the weight; then their product and its relu")
	_, ok := m.Value(report.Allocated)
	assert.False(t, ok)
	tr, err := m.Trace()
	require.NoError(t, err)
	require.NoError(t, tr.Validate())
}

// memshim asks the binary that runs it, unless the user names another.
func TestMemshimGetsTheBinary(t *testing.T) {
	c := smallCase(t)
	tools := Tools{Binary: "/opt/memspec"}
	assert.Contains(t, tools.environment(c, []string{"HOME=/"}), "MEMSPEC=/opt/memspec")
	assert.NotContains(t, tools.environment(c, []string{"MEMSPEC=mine"}), "MEMSPEC=/opt/memspec")
	assert.Equal(t, []string{"HOME=/"}, (&Tools{}).environment(c, []string{"HOME=/"}))
}

// TestLimits: a process has a minute more than its run, and on a GPU as long as it may wait for
// that.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		tools        Tools
		where        recording.Where
		run, process time.Duration
	}{
		{Tools{}, recording.OnPretend, DefaultLimit, DefaultLimit + time.Minute}, {Tools{}, recording.OnCUDA, DefaultLimit,
			DefaultLimit + time.Minute + DefaultWait},
		{Tools{Limit: time.Second}, recording.OnCPU, time.Second, 61 * time.Second},
		{Tools{Limit: time.Second, Wait: time.Hour}, recording.OnCUDA, time.Second, time.Hour + 61*time.Second},
		{Tools{Limit: time.Second, Wait: time.Hour}, recording.OnPretend, time.Second, 61 * time.Second},
	} {
		run, process := tt.tools.limits(tt.where)
		assert.Equal(t, []time.Duration{tt.run, tt.process}, []time.Duration{run, process})
	}
}

// TestEnvironment: what a case says of its environment is the case's own; nothing of the machine's
// stands beside it.
func TestEnvironment(t *testing.T) {
	given := []string{"HOME=/h", "PYTORCH_CUDA_ALLOC_CONF=a", "PYTORCH_ALLOC_CONF=b", "CUBLAS_WORKSPACE_CONFIG=c",
		"PYTORCH_NO_CUDA_MEMORY_CACHING=1", "TORCH_CUDNN_V8_API_DISABLED=1", "TORCH_CUDNN_USE_HEURISTIC_MODE_B=1",
		"CUDA_VISIBLE_DEVICES=3", "MEMSPEC_X=1", "EMPTY="}
	for _, tt := range []struct {
		why   string
		tools Tools
		edit  func(c *spec.Case)
		given []string
		want  string
	}{
		{"nothing", Tools{}, func(*spec.Case) {}, given, "HOME=/h CUDA_VISIBLE_DEVICES=3 MEMSPEC_X=1 EMPTY="},
		{"a GPU of several", Tools{Device: "GPU-b"}, func(*spec.Case) {}, given,
			"HOME=/h MEMSPEC_X=1 EMPTY= CUDA_VISIBLE_DEVICES=GPU-b"},
		{"the command", Tools{Binary: "/bin/memspec"}, func(*spec.Case) {}, []string{"A=1"}, "A=1 MEMSPEC=/bin/memspec"},
		{"which the machine says", Tools{Binary: "/bin/memspec"}, func(*spec.Case) {}, []string{"MEMSPEC=/mine"},
			"MEMSPEC=/mine"},
		{"settings", Tools{}, func(c *spec.Case) { c.Platform.AllocConf, c.Platform.CuDNNv7 = "x:1", true }, nil,
			"PYTORCH_CUDA_ALLOC_CONF=x:1 TORCH_CUDNN_V8_API_DISABLED=1"},
		{"cuBLAS's workspace", Tools{}, func(c *spec.Case) { c.Platform.CublasWorkspace = ":16:8" }, nil,
			"CUBLAS_WORKSPACE_CONFIG=:16:8"},
	} {
		c := *smallCase(t)
		c.Platform.AllocConf, c.Platform.CublasWorkspace, c.Platform.Deterministic = "", "", false
		tt.edit(&c)
		assert.Equal(t, tt.want, strings.Join(tt.tools.environment(&c, tt.given), " "), tt.why)
	}
}
