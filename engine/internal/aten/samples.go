// Package aten runs PyTorch's recorded operator calls (testdata/aten) against the rules of one family of operators. It runs in tests only.
//
// A family's test hands over the table of all rules, which composite operators need, and its own rows:
//
//	func TestSamples(t *testing.T) { aten.Samples(t, builtin.Table(), nn.Rules) }
//
// Tests run in engine/ops/<family>; the lists of exceptions lie in its testdata.
package aten

import (
	"bufio"
	"bytes"
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

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// Dumps is where PyTorch's schemas and calls lie, seen from a family.
const Dumps = "../../../testdata/aten/2.15"

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

// Samples runs every recorded call of the family's overloads and compares overload, metadata, aliases and events. Subtests are named by operator
// and line of the operator, from 1: aten::mm/12. Calls in testdata/differs.txt must differ, for the reason given there. A row that no call runs must be in
// testdata/unsampled.txt.
func Samples(t *testing.T, table *ops.Table, family [][]ops.Rule) {
	files, err := filepath.Glob(filepath.Join(Dumps, "samples", "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	none := On(t, "none", "2.15")
	differs := exceptions(t, "testdata/differs.txt")
	sampled := calls{family: keys(family), files: files}.each(t, func(c *call) {
		t.Run(c.name, func(t *testing.T) {
			got := newRun(table, none).differences(t, &c.sample)
			if why := differs[c.name]; why != "" {
				assert.NotEmpty(t, got, "it agrees: take it off testdata/differs.txt (%s)", why)
				return
			}
			if len(got) > 0 {
				t.Errorf("%s\n%s\n%s", c.place, strings.Join(got, "\n"), again(t))
			}
		})
		delete(differs, c.name)
	})
	assert.NotEmpty(t, sampled)
	assert.Empty(t, differs, "in testdata/differs.txt, and no sample")
	var missing []string
	for key := range keys(family) {
		if !sampled[key] {
			missing = append(missing, key)
		}
	}
	CompareList(t, "testdata/unsampled.txt", missing)
}

// Refused runs every call of the family that PyTorch refuses (testdata/aten/<torch>/refused.jsonl) and wants an error. Subtests are named as those of
// Samples. Calls in testdata/accepted.txt are accepted, for the reason given there.
func Refused(t *testing.T, table *ops.Table, family [][]ops.Rule) {
	none := On(t, "none", "2.15")
	accepted := exceptions(t, "testdata/accepted.txt")
	calls{family: keys(family), files: []string{filepath.Join(Dumps, "refused.jsonl")}}.each(t, func(c *call) {
		require.True(t, c.Error, c.place)
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				if bug := recover(); bug != nil {
					t.Errorf("%s\npanic: %v\n%s", c.place, bug, again(t))
				}
			}()
			got := newRun(table, none).differences(t, &c.sample)
			if why := accepted[c.name]; why != "" {
				assert.NotEmpty(t, got, "it is refused: take it off testdata/accepted.txt (%s)", why)
				return
			}
			if len(got) > 0 {
				t.Errorf("%s\n%s\n%s", c.place, strings.Join(got, "\n"), again(t))
			}
		})
		delete(accepted, c.name)
	})
	assert.Empty(t, accepted, "in testdata/accepted.txt, and no call")
}

// again is the command that runs a failed test by itself.
func again(t *testing.T) string {
	dir, err := os.Getwd()
	require.NoError(t, err)
	return fmt.Sprintf("go test ./engine/ops/%s -run '^%s$'", filepath.Base(dir), strings.ReplaceAll(t.Name(), "/", "$/^"))
}

// keys are the family's overloads.
func keys(family [][]ops.Rule) map[string]bool {
	out := map[string]bool{}
	for _, rules := range family {
		for i := range rules {
			out[schema.KeyOf(rules[i].Schema)] = true
		}
	}
	return out
}

// call is a recorded call.
type call struct {
	sample
	name  string // aten::mm/12
	place string // file:line
}

// calls are the recorded calls of a family.
type calls struct {
	family map[string]bool
	files  []string
	plus   bool // named aten::mm+7 by line of the file
}

// each visits the calls and returns the overloads that it met. Lines of other operators are only counted.
func (cs calls) each(t *testing.T, visit func(*call)) (met map[string]bool) {
	t.Helper()
	names := map[string]bool{}
	for key := range cs.family {
		name, _, _ := strings.Cut(key, ".")
		names[name] = true
	}
	met = map[string]bool{}
	number := map[string]int{}
	for _, file := range cs.files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		scan := bufio.NewScanner(bytes.NewReader(data))
		scan.Buffer(nil, 1<<24)
		for line := 1; scan.Scan(); line++ {
			op := opOf(scan.Text())
			require.NotEmpty(t, op, "%s:%d: got no op first, want one", file, line)
			number[op]++
			if !names[op] {
				continue
			}
			c := &call{name: fmt.Sprintf("%s/%d", op, number[op]), place: fmt.Sprintf("%s:%d", file, line)}
			if cs.plus {
				c.name = fmt.Sprintf("%s+%d", op, line)
			}
			dec := json.NewDecoder(strings.NewReader(scan.Text()))
			dec.UseNumber()
			require.NoError(t, dec.Decode(&c.sample), c.place)
			c.Known = filepath.Base(file) == "values.jsonl"
			if cs.family[c.key()] {
				met[c.key()] = true
				visit(c)
			}
		}
		require.NoError(t, scan.Err())
	}
	return met
}

// opOf is a line's operator, which stands first, without reading the rest; "" where it does not.
func opOf(line string) string {
	rest, _ := strings.CutPrefix(line, `{"op":"`)
	op, _, _ := strings.Cut(rest, `"`)
	return op
}

// exceptions reads a list of samples, which may be missing: each line "reason: sample sample …".
func exceptions(t *testing.T, path string) map[string]string {
	t.Helper()
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return map[string]string{}
	}
	return reasons(t, path)
}

// key is the operator with its overload.
func (s *sample) key() string {
	if s.Overload == "" {
		return s.Op
	}
	return s.Op + "." + s.Overload
}

// run is one call on a bench. Storages have names: "s0" is storage 0 of the sample's arguments, "b0" the first birth, "-" one of no bytes.
type run struct {
	table *ops.Table
	bench *exec.Bench
	given map[int]*tensor.Storage // by sid
	empty map[int]bool            // of the given ones: of 0 bytes
}

func newRun(table *ops.Table, p *platform.Platform) *run {
	return &run{table: table, bench: exec.NewBench(table, p), given: map[int]*tensor.Storage{}, empty: map[int]bool{}}
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
	bound, full, err := r.table.Resolve(s.Op, args, kw)
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
