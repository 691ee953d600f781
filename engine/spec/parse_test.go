package spec_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/verdict"
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "memspec.yaml")
	_, err := spec.Load(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t,
		os.WriteFile(path, []byte("version: 1\nmodels:\n  a: {artifact: sub/../a.pt, workspace: s.json, device: t4, "+
			"budget: {reserved: 1}}\n"), 0o600))
	cases, err := spec.Load(path)
	require.NoError(t, err)
	require.Len(t, cases, 1)
	c := cases[0]
	assert.Equal(t, filepath.Join(dir, "a.pt"), c.Artifact, "relative to the file, not to the working directory")
	assert.Equal(t, filepath.Join(dir, "s.json"), c.Workspace)
	assert.Equal(t, dir, c.Dir)
	assert.Equal(t, verdict.Pos{File: path, Line: 3, Col: 3}, c.Pos)
}

func TestTrainingIsACase(t *testing.T) {
	cases,
		err := spec.Parse("m.yaml", []byte("version: 1\ndefaults: {mode: training}\nmodels:\n  a: {artifact: a.pt, device: "+
		"t4, budget: {reserved: 1}}\n"))
	require.NoError(t, err)
	assert.Equal(t, spec.Training, cases[0].Mode, "whether its artifact can answer that is asked when it is opened")
}

func TestCaseAnswers(t *testing.T) {
	cases,
		err := spec.Parse("m.yaml", []byte("version: 1\nmodels:\n  a: {artifact: a.pt, device: t4, dims: {B: 2, H: 3}, "+
		"allow: [shape-bound], budget: {reserved: B}}\n"))
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{"B": 2, "H": 3}, cases[0].Symbols())
	assert.True(t, cases[0].Allows("shape-bound"))
	assert.False(t, cases[0].Allows("branch-both"))
}

// hostile files end early, with an error or with cases, in bounded time and memory.
func TestHostileYAML(t *testing.T) {
	bomb := &strings.Builder{}
	bomb.WriteString("version: 1\nx0: &x0 {a: 1}\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(bomb, "x%d: &x%d {k1: *x%d, k2: *x%d, k3: *x%d}\n", i, i, i-1, i-1, i-1)
	}
	merges := &strings.Builder{}
	merges.WriteString("version: 1\nmodels:\n  m0: &m0 {artifact: a.pt, device: t4, budget: {reserved: 1}}\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(merges, "  m%d: &m%d {<<: [*m%d, *m%d]}\n", i, i, i-1, i-1)
	}
	inputs := strings.Replace(bomb.String(), "version: 1\n", "", 1)
	const model = "version: 1\nmodels:\n  a: {artifact: a.pt, device: t4, budget: {reserved: 1}, "
	for _, c := range []struct{ name, data, want string }{
		{"alias bomb in inputs", inputs + model + "inputs: [*x29]}\n", "got values nested deeper than 32|got more than " +
			"200000 values"},
		{"merge bomb", merges.String(), "got more than 200000 values, aliases counted, want fewer"},
		{"alias to itself", model + "inputs: &i [*i]}\n", "got values nested deeper than 32"},
		{"merge of itself", "version: 1\nmodels: &m\n  <<: *m\n  a: {artifact: a.pt, device: t4, budget: {reserved: 1}}\n",
			"got merge keys nested deeper than 64"},
		{"deep lists", model + "inputs: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}\n",
			"nested deeper than 32"},
		{"deeper than the reader of YAML goes", model + "inputs: " + strings.Repeat("[", 200_000) + "}\n", "not YAML: "},
		{"cross product", model + "dims: {A: [1,2,3,4,5,6,7,8,9,10], B: [1,2,3,4,5,6,7,8,9,10], C: [1,2,3,4,5,6,7,8,9,10], " +
			"D: [1,2,3,4,5,6,7,8,9,10], E: [1, 2]}}\n",
			"got more than 10000 cases, want fewer"},
		{"too large", "version: 1\n#" + strings.Repeat("x", 1<<20), "got a file of 1048588 bytes, want at most 1048576"},
		{"binary", "\x00\x01\x02\x03", "not YAML: control characters are not allowed"},
		{"an archive", "PK\x03\x04\x00", "1:1: got an archive, want a file of cases: memspec estimate takes an archive, " +
			"memspec init writes a file of cases for it"},
		{"not UTF-8", "version: \xff\xfe\n", "not YAML: "},
		{"many errors", "version: 1\n" + manyKeys(3000), "… and 950 more"},
		{"carriage returns", "version: 2\r\nmodels: {}\r\n", "m.yaml:1:10: got version 2, want 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			cases, err := spec.Parse("m.yaml", []byte(c.data))
			require.Error(t, err)
			assert.Nil(t, cases)
			assert.Regexp(t, c.want, err.Error())
			inside(t, []byte(c.data), err)
			runtime.ReadMemStats(&after)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), "work is bounded: what it allocates in all")
			assert.Less(t, len(err.Error()), 100_000)
		})
	}
}

func TestDepthOfInputs(t *testing.T) {
	nested := func(lists int) error {
		text := "version: 1\nmodels:\n  a: {artifact: a.pt, device: t4, budget: {reserved: 1}, inputs: [" +
			strings.Repeat("[", lists) + strings.Repeat("]", lists) + "]}\n"
		_, err := spec.Parse("m.yaml", []byte(text))
		return err
	}
	assert.NoError(t, nested(33), "a list, and 32 in it")
	assert.ErrorContains(t, nested(34), "got values nested deeper than 32")
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "unknown%d: 1\n", i)
	}
	return b.String()
}

// inside checks that every error lies in the file.
func inside(t testing.TB, data []byte, err error) {
	t.Helper()
	es, ok := errors.AsType[spec.Errors](err)
	require.True(t, ok, "%T", err)
	require.NotEmpty(t, es)
	lines := strings.Split(string(data), "\n")
	for i, e := range es {
		require.True(t, e.Pos.Line >= 1 && e.Pos.Line <= len(lines), "%s: the file has %d lines", e, len(lines))
		width := utf8.RuneCountInString(lines[e.Pos.Line-1])
		require.True(t, e.Pos.Col >= 1 && e.Pos.Col <= width+1, "%s: the line has %d columns", e, width)
		if i > 0 {
			require.GreaterOrEqual(t, e.Pos.Line, es[i-1].Pos.Line, "errors are in order")
		}
	}
}

// FuzzParse: no panic, no unbounded work, every error inside the file, every case complete.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"../../testdata/spec/*.txtar", "../../testdata/errors/spec_*.txtar"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			require.NoError(f, err)
			for _, file := range txtar.Parse(data).Files {
				if file.Name == "memspec.yaml" {
					f.Add(file.Data)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cases, err := spec.Parse("m.yaml", data)
		if err != nil {
			inside(t, data, err)
			return
		}
		require.NotEmpty(t, cases, "a file without a case is an error")
		seen := map[string]bool{}
		for i := range cases {
			c := &cases[i]
			require.False(t, seen[c.Name], "%s twice", c.Name)
			seen[c.Name] = true
			require.NotEmpty(t, c.Name)
			require.NotEmpty(t, c.Budgets)
			require.NotEmpty(t, c.Platform.Device.Name)
			require.NotEmpty(t, c.Artifact+c.Source)
			require.NoError(t, c.Platform.Check())
			for _, in := range c.Inputs {
				if _, err := in.Bind(nil); err != nil {
					t.Fatalf("%s is not bound: %v", in, err)
				}
			}
		}
	})
}

// sixty is a file of 60 cases: 20 models of three batches.
func sixty() []byte {
	var b strings.Builder
	b.WriteString("version: 1\ndefaults: {device: a10g, runtime: eager, torch: 2.15, tolerance: 1%}\nmodels:\n")
	for i := range 20 {
		fmt.Fprintf(&b, "  model%d:\n    artifact: artifacts/model%d.pt\n    inputs: {x: \"float32[B,3,H,W]\"}\n    dims: "+
			"{H: 224, W: 224}\n    cases:\n"+
			"      - dims: {B: 1}\n        budget: {allocated: 110MiB, reserved: 144MiB}\n      - dims: {B: [8, 32]}\n        "+
			"budget: {reserved: 60%%, allocated: 98MiB + 12MiB*B}\n", i, i)
	}
	return []byte(b.String())
}

func BenchmarkParse60(b *testing.B) {
	data := sixty()
	cases, err := spec.Parse("memspec.yaml", data)
	require.NoError(b, err)
	require.Len(b, cases, 60)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := spec.Parse("memspec.yaml", data); err != nil {
			b.Fatal(err)
		}
	}
}

const engineSpec = `version: 1
defaults: {budget: {reserved: 60%}, torch: 2.14, alloc_conf: "expandable_segments:True", regression: {allocated: 2%}}
models:
  chat:
    serve: [vllm, serve, models/qwen3-8b, --max-model-len, "{L}"]
    args: [--max-num-seqs, 256]
    device: h100-sxm-80gb
    dims: {L: 8192}
    budget: {loaded: 16GiB, activation: 2.5GiB}
    at_least: {kv_tokens: 48*L, concurrency: 48}
    regression: {kv_tokens: 2%}
    cases:
      - {}
      - {args: [--tensor-parallel-size, "2"], dims: {L: [4096, 8192]}}
      - {args: [--quantization, fp8], name: small, at_least: {kv_tokens: 500000}}
`

// A model can be an engine's command: a case's words come after it and stand in its name. What
// defaults: say of runs is not the engine's.
func TestAnEngineIsACase(t *testing.T) {
	cases, err := spec.Parse("m.yaml", []byte(engineSpec))
	require.NoError(t, err)
	var names, limits []string
	for _, c := range cases {
		names = append(names, c.Name)
		assert.Equal(t, []string{"vllm", "serve", "models/qwen3-8b", "--max-model-len"}, c.Program.Command()[:4])
		assert.True(t, c.Program.Serves())
		assert.Empty(t, c.Platform.AllocConf)
		require.Len(t, c.Regression, 1)
	}
	for _, b := range append(cases[0].Budgets, cases[3].Budgets[2]) {
		limits = append(limits, fmt.Sprintf("%s %s", b.Path, b.Metric.Text(b.Limit)))
	}
	assert.Equal(t, []string{
		"chat", "chat[--tensor-parallel-size 2,L=4096]", "chat[--tensor-parallel-size 2,L=8192]", "small",
	}, names)
	assert.Equal(t, []string{
		"models.chat.budget.loaded 16.00 GiB", "models.chat.budget.activation 2.50 GiB",
		"models.chat.at_least.kv_tokens 393,216", "models.chat.at_least.concurrency 48",
		"models.chat.cases[2].at_least.kv_tokens 500,000",
	}, limits)
	assert.Equal(t, []string{"8192", "--max-num-seqs", "256", "--quantization", "fp8"}, cases[3].Program.Command()[4:])
	assert.Equal(t, []string{"python", "-m", "memshim", "serve", "--on", "l4", "--", "vllm"},
		cases[0].Program.RunWords("--on", "l4")[:8])
	assert.True(t, cases[0].JSON().Program.Serve)
	assert.NotEqual(t, cases[1].Captured(), cases[2].Captured())
	other := cases[0]
	other.Platform.Torch.Minor++
	assert.Equal(t, cases[0].Captured(), other.Captured(), "torch comes with the engine")
	other.Platform.Device.Memory++
	assert.NotEqual(t, cases[0].Captured(), other.Captured())
}
