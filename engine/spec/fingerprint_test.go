package spec_test

import (
	"math/big"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/ops/custom"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/workspace/profile"
)

func saidText(c *spec.Case) string {
	var b strings.Builder
	c.WriteSaid(&b)
	return b.String()
}

// full is a case in which nothing is empty.
func full(t *testing.T) *spec.Case {
	t.Helper()
	cases, err := spec.Parse("memspec.yaml", []byte(`
version: 1
models:
  m:
    artifact: m.pt
    source: zoo.py:m
    device: t4
    runtime: eager
    dims: {B: 2}
    inputs: {x: "float32[B,3,8,8]", y: "{'a': [int64[B], 1, 2.5, true, 'text', null]}"}
    budget: {reserved: 1GiB}
`))
	require.NoError(t, err)
	c := &cases[0]
	c.Training = &recording.Training{}
	c.Lengths, c.IterationInputs, c.Varies = map[string][]int64{"B": {2, 1}}, [][]spec.Input{c.Inputs}, []string{"B"}
	c.Assume = []spec.Assumption{{Line: "m.py:3", Size: 7}}
	c.Allow = []string{"op-missing"}
	c.Depends = recording.Depends{Ignore: []string{"data/**"}, Also: []string{"conf/**"}}
	c.Operators = []custom.Operator{{Schema: "my::op(Tensor x) -> Tensor", Results: []string{"x"}, Workspace: "1024"}}
	c.Fits = []spec.Fit{{Dim: spec.Dim{Name: "B", Value: 4}}}
	c.Regression = []spec.Regression{{Metric: report.Reserved, Percent: big.NewRat(2, 1), Text: "2%"}}
	c.Program = &spec.Program{File: "train.py", Module: "train", Args: []string{"--batch"},
		Env: []spec.Variable{{Name: "WIDTH", Value: "2"}}, Cwd: "d",
		Steps: 2, Ranks: &spec.Ranks{WorldSize: 8, NProcPerNode: 4, Run: []string{"0"}}}
	c.Baseline, c.Workspace = "memspec.baseline.json", "memspec.workspace.json"
	c.Platform.Workspace = &profile.Profile{}
	return c
}

// Whatever changes in a case changes what is written of it, except where it stands.
func TestWriteSaidSeesEveryField(t *testing.T) {
	apart := []string{"Baseline", "Platform.Workspace"} // what files hold
	stands := regexp.MustCompile(`^(.*\.)?(Artifact)?Pos\.(Line|Col)$|^(.*\.|Artifact)Pos\.File$`)
	before := saidText(full(t))
	require.Equal(t, before, saidText(full(t)), "the same twice")
	seen := eachChange(t, apart, func(path string, c *spec.Case) {
		if slices.Contains(apart, path) || stands.MatchString(path) {
			assert.Equal(t, before, saidText(c), path)
		} else {
			assert.NotEqual(t, before, saidText(c), path)
		}
	})
	assert.Greater(t, seen, 60)
}

// A recording is found by what the run depends on and the recording does not record: all of a
// case's settings but what a replay can choose, what judges it, and what is known of a device
// besides its name, capability and multiprocessors (those of a program: TestCapturedOfAProgram).
func TestCapturedSeesWhatTheRecordingLacks(t *testing.T) {
	capturedSees(t, false,
		`^(Model|Source|Rank|Dir|Mode|Runtime|Grad|DType|Inputs|Lengths|IterationInputs|Program\..*|Assume|Assume\.(Line|Size|Values)|Training.*|Artifact`+
			`|Platform\.(Autocast|TF32Matmul|TF32CuDNN|Benchmark|Deterministic|CuDNNv7|Attention|CublasWorkspace.*|Torch\..*|Device\.(Name|ComputeCapability.*|SMs)))$`)
}

// A program itself decides how it runs. It may catch that memory runs out, so that of its device
// the memory counts.
func TestCapturedOfAProgram(t *testing.T) {
	capturedSees(t, true, `^(Model|Rank|Dir|Program|Program\..*|Assume|Assume\.(Line|Size|Values)|Artifact`+
		`|Platform\.(Deterministic|CublasWorkspace.*|Torch\..*|Device\.(Name|ComputeCapability.*|SMs|Memory)))$`)
}

// A recording is found by every release that makes the key of the same parts: another order or
// spelling of them would leave all recordings behind.
func TestCapturedStays(t *testing.T) {
	c := full(t)
	c.Artifact, c.Dir, c.Platform.Torch = "", "", platform.Version{Major: 2, Minor: 15}
	assert.Equal(t, ".memspec/m-d2a0f909fa95cdad.ranks.json", filepath.ToSlash(c.Captured()))
	c.Program.Steps = 1
	c.Program.Env = append(c.Program.Env, spec.Variable{Name: "DEPTH", Unset: true})
	assert.Equal(t, ".memspec/m-e4495911b5411403.ranks.json", filepath.ToSlash(c.Captured()))
	c.Program.Steps = 0
	assert.Equal(t, ".memspec/m-b896475492732e15.ranks.json", filepath.ToSlash(c.Captured()))
	c.Program.Steps, c.Program.Env = 2, c.Program.Env[:1]
	c.Program.Serve = true
	assert.Equal(t, ".memspec/m-8622de435f1681d1.ranks.json", filepath.ToSlash(c.Captured()))
	c.Program, c.Platform.Attention = nil, 3
	assert.Equal(t, ".memspec/m-da261e773403478e.rec", filepath.ToSlash(c.Captured()))
}

// capturedSees compares the fields that Captured depends on with those that a pattern names.
func capturedSees(t *testing.T, program bool, names string) {
	t.Helper()
	hangs := regexp.MustCompile(names)
	base := func(c *spec.Case, changed string) {
		if changed != "Artifact" {
			c.Artifact = ""
		}
		if changed != "Dir" {
			c.Dir = "d"
		}
		if !program && !strings.HasPrefix(changed, "Program") {
			c.Program = nil
		}
		c.Platform.Attention = 3
		if changed == "Platform.Attention" {
			c.Platform.Attention = 1
		}
	}
	before := full(t)
	base(before, "")
	require.NotEmpty(t, before.Captured())
	var not []string
	seen := eachChange(t, []string{"Inputs", "IterationInputs"}, func(path string, c *spec.Case) {
		base(c, path)
		if got := c.Captured() != before.Captured(); got != hangs.MatchString(path) {
			not = append(not, path)
		}
	})
	assert.Empty(t, not)
	assert.Greater(t, seen, 60)
}

// eachChange calls check with the full case after each change of one value in it, but within those
// apart, and returns how many there are.
func eachChange(t *testing.T, apart []string, check func(path string, c *spec.Case)) (seen int) {
	var walk func(path string, at func(*spec.Case) reflect.Value)
	walk = func(path string, at func(*spec.Case) reflect.Value) {
		c := full(t)
		v := at(c)
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() {
					walk(strings.TrimPrefix(path+"."+f.Name, "."), func(c *spec.Case) reflect.Value { return at(c).Field(i) })
				}
			}
			return
		case reflect.Slice:
			require.NotZero(t, v.Len(), "%s is empty", path)
			if !slices.Contains(apart, path) {
				walk(path, func(c *spec.Case) reflect.Value { return at(c).Index(0) })
			}
			v.Set(v.Slice(0, 0))
		case reflect.Pointer:
			if !v.IsNil() && v.Elem().Kind() == reflect.Struct && !slices.Contains(apart, path) {
				walk(path, func(c *spec.Case) reflect.Value { return at(c).Elem() })
			}
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			} else {
				v.SetZero()
			}
		case reflect.Map:
			if v.Len() == 0 {
				v.Set(reflect.MakeMap(v.Type()))
				v.SetMapIndex(reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem())
			} else {
				v.SetZero()
			}
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Float64:
			v.SetFloat(v.Float() + 1)
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			v.SetInt(v.Int() + 1)
		case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			v.SetUint(v.Uint() + 1)
		case reflect.Interface:
			v.SetZero()
		default:
			t.Errorf("%s: a %s, which this test cannot change", path, v.Type())
		}
		seen++
		check(path, c)
	}
	walk("", func(c *spec.Case) reflect.Value { return reflect.ValueOf(c).Elem() })
	return seen
}

func TestWriteSaidSeesEveryInput(t *testing.T) {
	texts := []string{"float32[2,3]", "float32[3,2]", "float16[2,3]", "x=float32[2,3]", "float32[2,3] cpu",
		"float32[2,3,4,5]", "float32[2,3,4,5] channels_last", "[float32[2,3]]", "(float32[2,3],)",
		"{'a': float32[2,3]}", "{'b': float32[2,3]}", "1", "2", "1.0", "true", "'1'", "null", "[1, 2]", "[[1], 2]",
		"[1, [2]]"}
	by := map[string]string{}
	for _, text := range texts {
		in, err := spec.ParseInput(text)
		require.NoError(t, err, text)
		c := spec.Case{Inputs: []spec.Input{in}}
		said := saidText(&c)
		assert.Empty(t, by[said], "%s is like %s", text, by[said])
		by[said] = text
	}
}
