// Package aten runs PyTorch's recorded operator calls (testdata/aten) against the rules of one
// family of operators. It runs in tests only.
//
// A family's test hands over the table of all rules, which composite operators need, and its own
// rows:
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
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// dumps is where PyTorch's schemas and calls lie.
func dumps(t *testing.T) string { return filepath.Join(root(t), "testdata", "aten", "2.15") }

// root is the repository, seen from the folder of the test.
func root(t *testing.T) string {
	t.Helper()
	for dir := "."; len(dir) < 64; dir = filepath.Join("..", dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("got no go.mod above the folder of the test")
	return ""
}

// sample is a line of testdata/aten/<torch>/samples: see testdata/aten/README.md.
type sample struct {
	Op       string
	Overload string
	Args     []any
	Kwargs   map[string]any
	Outs     []any
	After    map[string]any
	Events   [][]any
	Leaves   []string
	Error    bool
	Most     bool // the values make the result as large as it can be
	Known    bool `json:"-"` // the engine must know the values: values.jsonl
	Cycle    bool // what Python's collector freed has no place in the order
}

// Samples runs every recorded call of the family's overloads and compares overload, metadata,
// aliases and events. Subtests are named by operator and line of the operator, from 1: aten::mm/12.
// Errors are those of testdata/said.txt, as are results whose size is not known. Calls in
// testdata/differs.txt must differ, for the reason given there. A row that no call runs must be in
// testdata/unsampled.txt.
func Samples(t *testing.T, table *ops.Table, family [][]ops.Rule) {
	sampled, said := runSamples(t, table, keys(family), exceptions(t, "testdata/differs.txt"))
	said.compare(t, "testdata/said.txt", "What is said to samples that PyTorch refuses, and of those whose size is not "+
		"known. MEMSPEC_UPDATE=1 go test -run TestSamples")
	var missing []string
	for key := range keys(family) {
		if !sampled[key] {
			missing = append(missing, key)
		}
	}
	CompareList(t, "testdata/unsampled.txt", missing)
}

func runSamples(
	t *testing.T, table *ops.Table, family map[string]bool, differs map[string]string,
) (sampled map[string]bool, said reports) {
	said = reports{}
	files := sampleFiles(t)
	none := On(t, "none", "2.15")
	uncomputed := map[string]bool{} // overloads that are listed whole
	sampled = calls{family: family, files: files}.each(t, func(c *call) {
		t.Run(c.name, func(t *testing.T) {
			r := newRun(table, none)
			defer func() { said.add(c.name, r.said) }()
			got := r.differences(t, &c.sample)
			if differs[c.key()] != "" {
				uncomputed[c.key()] = true
				assert.True(t, len(got) > 0 ||
					c.Error, "it agrees: take its operator off testdata/differs.txt (%s)", differs[c.key()])
				return
			}
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
	maps.DeleteFunc(differs, func(key, _ string) bool { return uncomputed[key] })
	assert.Empty(t, differs, "in testdata/differs.txt, and no sample")
	return sampled, said
}

func sampleFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dumps(t), "samples", "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// Refused runs every call of the family that PyTorch refuses (testdata/aten/<torch>/refused.jsonl)
// and wants an error, that of testdata/refused.txt, which MEMSPEC_UPDATE=1 writes. Subtests are
// named as those of Samples. Calls in testdata/accepted.txt are accepted, for the reason given
// there.
func Refused(t *testing.T, table *ops.Table, family [][]ops.Rule) {
	const path = "testdata/refused.txt"
	want := messages(t, path)
	accepted := exceptions(t, "testdata/accepted.txt")
	// no model can meet it on a GPU, or it is not the call: pyshim/tests/test_refused.py tries both
	for name, why := range accepted {
		assert.Regexp(t, "^(a GPU accepts it|values decide), ", why, name)
	}
	got := runRefused(t, table, keys(family), accepted, want)
	if !golden.Updating() {
		return
	}
	writeMessages(t, path, "What is said to calls that PyTorch refuses. MEMSPEC_UPDATE=1 go test -run TestRefused", got)
}

// runRefused returns what is said to each call.
func runRefused(
	t *testing.T, table *ops.Table, family map[string]bool, accepted, want map[string]string,
) map[string]string {
	none := On(t, "none", "2.15")
	said := map[string]string{}
	calls{family: family, files: []string{filepath.Join(dumps(t), "refused.jsonl")}}.each(t, func(c *call) {
		require.True(t, c.Error, c.place)
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				if bug := recover(); bug != nil {
					t.Errorf("%s\npanic: %v\n%s", c.place, bug, again(t))
				}
			}()
			err := newRun(table, none).refusal(t, &c.sample)
			if err != nil {
				said[c.name] = strings.ReplaceAll(err.Error(), "\n", " ")
			}
			if why := accepted[c.name]; why != "" {
				assert.NoError(t, err, "it is refused: take it off testdata/accepted.txt (%s)", why)
				return
			}
			if err == nil {
				t.Errorf("%s\ngot a result, want an error\n%s", c.place, again(t))
			} else if want[c.name] != said[c.name] && !golden.Updating() {
				t.Errorf("%s\ngot  %s\nwant %s\n%s", c.place, said[c.name], want[c.name], again(t))
			}
		})
		delete(accepted, c.name)
	})
	assert.Empty(t, accepted, "in testdata/accepted.txt, and no call")
	return said
}

// again is the command that runs a failed test by itself.
func again(t *testing.T) string {
	dir, err := os.Getwd()
	require.NoError(t, err)
	rel, err := filepath.Rel(filepath.Join(dir, root(t)), dir)
	require.NoError(t, err)
	whole := ""
	if golden.Whole() {
		whole = "MEMSPEC_WHOLE=1 "
	}
	return fmt.Sprintf("%sgo test ./%s -run '^%s$'", whole, filepath.ToSlash(rel), strings.ReplaceAll(t.Name(), "/", "$/^"))
}

// keys are the family's overloads.
func keys(family [][]ops.Rule) map[string]bool {
	out := map[string]bool{}
	for _, rules := range family {
		for i := range rules {
			for _, key := range rules[i].Keys() {
				out[key] = true
			}
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

// each visits the calls and returns the overloads that it met. Lines of other operators are only
// counted.
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

// run is one call on a bench. Storages have names: "s0" is storage 0 of the sample's arguments,
// "b0" the first birth, "-" one of no bytes.
type run struct {
	table *ops.Table
	bench *Bench
	given map[int]*tensor.Storage // by sid
	empty map[int]bool            // of the given ones: of 0 bytes
	said  string                  // where PyTorch refuses the call, or no one answer is right
}

func newRun(table *ops.Table, p *platform.Platform) *run {
	return &run{table: table, bench: NewBench(table, p), given: map[int]*tensor.Storage{}, empty: map[int]bool{}}
}

// dropGrowth leaves out storages that grew although the call writes nothing: the fake kernel of
// index widens what a 0-dim index looks at.
func (s *sample) dropGrowth() {
	if len(s.After) > 0 {
		return
	}
	s.Events = slices.DeleteFunc(s.Events, func(e []any) bool { return e[0] == "r" })
}

// arguments makes a call's arguments.
func (r *run) arguments(t *testing.T, s *sample) ([]any, ops.Kw) {
	args, kw := make([]any, len(s.Args)), ops.Kw{}
	for i, v := range s.Args {
		args[i] = r.value(t, v)
	}
	for k, v := range s.Kwargs {
		kw[k] = r.value(t, v)
	}
	return args, kw
}

// refusal runs the call and returns its error; what has no rule is refused too.
func (r *run) refusal(t *testing.T, s *sample) error {
	args, kw := r.arguments(t, s)
	_, _, err := r.bench.Run(s.Op, args, kw)
	if missing := r.bench.Missing(); err == nil && len(missing) > 0 {
		return fmt.Errorf("needs %v", missing[0])
	}
	return err
}

// differences runs the call and says what is not as recorded.
func (r *run) differences(t *testing.T, s *sample) (out []string) {
	t.Helper()
	args, kw := r.arguments(t, s)
	bound, full, err := r.table.Resolve(s.Op, args, kw)
	if err != nil {
		r.said = err.Error()
		return refusal(s, err)
	}
	result, events, err := r.bench.Run(s.Op, args, kw)
	var missing *ops.MissingError
	if errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil || s.Error {
		r.said = fmt.Sprint(err)
		return refusal(s, err)
	}
	if m := r.bench.Missing(); len(m) > 0 {
		t.Skip("needs " + m[0].Op)
	}
	if !s.Most && slices.ContainsFunc(r.bench.Notes(), func(n trace.Note) bool { return n.ID == note.ShapeBound }) {
		r.said = accepted(result, events, r.gotNames(events)) + notesOf(r.bench)
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
