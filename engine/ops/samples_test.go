package ops_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// sample is a line of testdata/aten/<torch>/samples: see testdata/aten/README.md.
type sample struct {
	Op       string
	Overload string
	Args     []any
	Kwargs   map[string]any
	Outs     []any
	After    map[string]any
	Events   [][]any
	Error    bool
	Most     bool // the values make the result as large as it can be
	Known    bool `json:"-"` // the engine must know the values: values.jsonl
	Cycle    bool // what Python's collector freed has no place in the order
}

// TestSamples runs every recorded call whose operator has a rule and compares overload, metadata, aliases and events. Subtests are named
// by operator and line of the operator, from 1: aten::mm/12. Calls in testdata/differs.txt must differ, for the reason given there.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob("../../testdata/aten/2.15/samples/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	plat := nonePlatform(t)
	known := exceptions(t, "testdata/differs.txt")
	number := map[string]int{}
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		scan := bufio.NewScanner(f)
		scan.Buffer(nil, 1<<24)
		for line := 1; scan.Scan(); line++ {
			dec := json.NewDecoder(strings.NewReader(scan.Text()))
			dec.UseNumber()
			var s sample
			require.NoError(t, dec.Decode(&s), "%s:%d", file, line)
			number[s.Op]++
			s.Known = filepath.Base(file) == "values.jsonl"
			name := fmt.Sprintf("%s/%d", s.Op, number[s.Op])
			t.Run(name, func(t *testing.T) {
				if _, ok := ops.Builtin().Lookup(s.key()); !ok {
					t.Skip("no rule")
				}
				got := newRun(plat).differences(t, &s)
				if why := known[name]; why != "" {
					assert.NotEmpty(t, got, "it agrees: take it off testdata/differs.txt (%s)", why)
					return
				}
				if len(got) > 0 {
					t.Errorf("%s:%d\n%s", file, line, strings.Join(got, "\n"))
				}
			})
			delete(known, name)
		}
		require.NoError(t, scan.Err())
		require.NoError(t, f.Close())
	}
	assert.Empty(t, known, "in testdata/differs.txt, and no sample")
}

// exceptions reads a list of samples: each line "reason: sample sample …".
func exceptions(t *testing.T, path string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	out := map[string]string{}
	for l := range strings.Lines(string(b)) {
		if l = strings.TrimSpace(l); l == "" || l[0] == '#' {
			continue
		}
		why, names, ok := strings.Cut(l, ": ")
		require.True(t, ok, l)
		for name := range strings.FieldsSeq(names) {
			out[name] = why
		}
	}
	return out
}

// key is the operator with its overload.
func (s *sample) key() string {
	if s.Overload == "" {
		return s.Op
	}
	return s.Op + "." + s.Overload
}

// nonePlatform is the device none with the recorded torch.
func nonePlatform(t *testing.T) *platform.Platform {
	t.Helper()
	d, err := device.Lookup("none")
	require.NoError(t, err)
	v, err := platform.ParseVersion("2.15")
	require.NoError(t, err)
	p, err := platform.New(d, v)
	require.NoError(t, err)
	return &p
}

// run is one call on a bench. Storages have names: "s0" is storage 0 of the sample's arguments, "b0" the first birth, "-" one of no bytes.
type run struct {
	bench *exec.Bench
	given map[int]*tensor.Storage // by sid
	empty map[int]bool            // of the given ones: of 0 bytes
}

func newRun(p *platform.Platform) *run {
	return &run{bench: exec.NewBench(ops.Builtin(), p), given: map[int]*tensor.Storage{}, empty: map[int]bool{}}
}

// dropGrowth leaves out storages that grew although the call writes nothing: the fake kernel of index widens what a 0-dim index looks at.
func (s *sample) dropGrowth() {
	if len(s.After) > 0 {
		return
	}
	s.Events = slices.DeleteFunc(s.Events, func(e []any) bool { return e[0] == "r" })
}

// differences runs the call and says what is not as recorded.
func (r *run) differences(t *testing.T, s *sample) (out []string) {
	t.Helper()
	args, kw := make([]any, len(s.Args)), ops.Kw{}
	for i, v := range s.Args {
		args[i] = r.value(t, v)
	}
	for k, v := range s.Kwargs {
		kw[k] = r.value(t, v)
	}
	bound, full, err := ops.Builtin().Resolve(s.Op, args, kw)
	if err != nil {
		return refusal(s, err)
	}
	result, events, err := r.bench.Run(s.Op, args, kw)
	var missing *ops.MissingError
	if errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil || s.Error {
		return refusal(s, err)
	}
	if m := r.bench.Missing(); len(m) > 0 {
		t.Skip("needs " + m[0].Op)
	}
	if !s.Most && slices.ContainsFunc(r.bench.Notes(), func(n trace.Note) bool { return n.ID == "shape-bound" }) {
		t.Skip("the engine takes the largest result")
	}
	add := func(what string, want, got any) {
		if diff := cmp.Diff(want, got); diff != "" {
			out = append(out, what+" (-want +got):\n"+diff)
		}
	}
	add("overload", s.Overload, bound.Schema.Overload)
	s.dropGrowth()
	wantNames, gotNames := r.wantNames(s.Events), r.gotNames(events)
	var outs []any
	for _, v := range s.Outs {
		outs = append(outs, describeWant(v, wantNames))
	}
	add("results", outs, describeResult(bound, result, gotNames))
	want, got := values(t, s, result)
	add("values", want, got)
	for name, want := range s.After {
		i := bound.Schema.ArgIndex(name)
		require.GreaterOrEqual(t, i, 0, name)
		add(name+" afterwards", describeWant(want, wantNames), describeGot(full[i], gotNames))
	}
	if !s.Cycle {
		add("events", r.wantEvents(s.Events, wantNames), gotEvents(events, gotNames))
	}
	return out
}

// refusal compares an error with whether PyTorch refuses.
func refusal(s *sample, err error) []string {
	switch {
	case s.Error && err == nil:
		return []string{"got a result, want an error"}
	case !s.Error && err != nil:
		return []string{"got an error, want a result: " + err.Error()}
	}
	return nil
}

// values are the recorded elements and those the engine knows; of values.jsonl it must know them.
func values(t *testing.T, s *sample, result any) (want, got []string) {
	t.Helper()
	x, ok := result.(*tensor.Tensor)
	if !ok || len(s.Outs) != 1 {
		return nil, nil
	}
	recorded, _ := s.Outs[0].(map[string]any)
	list, ok := recorded["v"].([]any)
	if !ok || x.Data == nil && !s.Known {
		return nil, nil
	}
	for i, v := range list {
		switch v := v.(type) {
		case json.Number:
			f, err := v.Float64()
			require.NoError(t, err)
			want = append(want, describeFloat(f))
		case bool:
			want = append(want, map[bool]string{true: "1", false: "0"}[v])
		default:
			return nil, nil
		}
		switch {
		case x.Data == nil:
		case x.DType.Integral(true):
			got = append(got, strconv.FormatInt(x.Data.Ints[i], 10))
		default:
			got = append(got, describeFloat(x.Data.Floats[i]))
		}
	}
	return want, got
}
