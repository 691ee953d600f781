package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/spec"
)

// TestSearch: the largest value that fits, of those that are tried; what does not fit for a while
// is found by trying one after the other.
func TestSearch(t *testing.T) {
	for _, tt := range []struct {
		why     string
		fits    func(v int64) bool
		most    int64
		largest int64
		next    bool
		scanned bool
	}{
		{"all", func(int64) bool { return true }, 16, 16, false, false},
		{"all, up to no power of two", func(int64) bool { return true }, 11, 11, false, false},
		{"one value alone", func(int64) bool { return true }, 1, 1, false, false},
		{"none", func(int64) bool { return false }, 16, 0, true, false},
		{"one", func(v int64) bool { return v == 1 }, 16, 1, true, false},
		{"up to the last but one", func(v int64) bool { return v < 16 }, 16, 15, true, false},
		{"up to seven", func(v int64) bool { return v <= 7 }, 16, 7, true, false},
	} {
		s := searched(tt.fits, tt.most)
		got, err := s.largest(tt.most)
		require.NoError(t, err, tt.why)
		assert.Equal(t, []any{tt.largest, tt.next, tt.scanned}, []any{got.Largest, got.Next != nil, got.Scanned}, tt.why)
		if got.Next != nil {
			assert.Equal(t, tt.largest+1, got.Next.Value, tt.why)
		}
	}
}

// searched is a search whose values were all run.
func searched(fits func(v int64) bool, most int64) *search {
	s := &search{ctx: context.Background(), tried: map[int64]*Limit{}}
	for v := int64(1); v <= most; v++ {
		if s.tried[v] = nil; !fits(v) {
			s.tried[v] = &Limit{Value: v}
		}
	}
	return s
}

// TestContradicts: a value above the answer that fits, or one below that does not, beside it,
// further off, or among all that were tried.
func TestContradicts(t *testing.T) {
	const most, answer = 64, 32
	for odd := int64(1); odd <= most; odd++ {
		s := searched(func(v int64) bool { return (v <= answer) != (v == odd) }, most)
		assert.Equal(t, odd != answer, s.contradicts(answer, most), "%d is otherwise", odd)
	}
	s := searched(func(v int64) bool { return v <= answer }, most)
	assert.False(t, s.contradicts(answer, most))
	assert.False(t, s.contradicts(answer, answer), "nothing above the bound is tried")
	few := searched(func(v int64) bool { return v == 1 }, 9)
	assert.False(t, few.contradicts(1, 9), "of 1 there is nothing below, and an eighth of it is no step")
}

// TestJudgeEndsASearch: the error of a value ends a search, and says at which.
func TestJudgeEndsASearch(t *testing.T) {
	var ms Models
	for _, most := range []int64{-1, 0, EndValue + 1} {
		_, err := ms.Largest(context.Background(), nil, most)
		assert.EqualError(t, err, fmt.Sprintf("got a search up to %d, want one up to a number from 1 to 1099511627776", most))
	}
	no := fmt.Errorf("no such case")
	at := func(v int64) (spec.Case, error) {
		if v >= 2 {
			return spec.Case{}, no
		}
		return on(t, "../../testdata/artifacts/small/module_list.script.pt", "float32[1,32]"), nil
	}
	_, err := ms.Largest(context.Background(), at, 8)
	assert.ErrorIs(t, err, no)
	_, err = ms.Sweep(context.Background(), at, []int64{1, 2})
	assert.ErrorIs(t, err, no)
	gone := func(int64) (spec.Case, error) { return on(t, "gone.pt"), nil }
	_, err = ms.Largest(context.Background(), gone, 8)
	assert.EqualError(t, err, "at 1: gone.pt: no such file or directory")
	_, err = ms.Sweep(context.Background(), gone, []int64{3, 4})
	assert.EqualError(t, err, "at 3: gone.pt: no such file or directory")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = ms.Largest(ctx, at, 8)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = ms.Sweep(ctx, at, []int64{1})
	assert.ErrorIs(t, err, context.Canceled)
	done := 0
	rs, err := ms.Sweep(context.Background(), at, []int64{1, 1})
	require.NoError(t, err)
	assert.Len(t, rs, 2)
	ms.JudgeAll(context.Background(), []spec.Case{on(t, "gone.pt")}, func() { done++ }, func(*Result) {})
	assert.Equal(t, 1, done)
}

// on is a case without budgets on no device.
func on(t *testing.T, path string, inputs ...string) spec.Case {
	t.Helper()
	d, err := device.Lookup("none")
	require.NoError(t, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	c := spec.Case{Name: "m", Artifact: path, Platform: p}
	for _, text := range inputs {
		in, err := spec.ParseInput(text)
		require.NoError(t, err)
		c.Inputs = append(c.Inputs, in)
	}
	return c
}

// TestProfileGone: a case whose workspace profile cannot be read is not run without it.
func TestProfileGone(t *testing.T) {
	c := on(t, "../../testdata/artifacts/small/module_list.script.pt", "float32[1,32]")
	c.Workspace = filepath.Join(t.TempDir(), "gone.json")
	want := c.Workspace + ": no such file or directory"
	m, err := engine.Open(c.Artifact)
	require.NoError(t, err)
	_, err = m.Run(context.Background(), c)
	assert.EqualError(t, err, want)
	var ms Models
	_, err = ms.Run(context.Background(), c)
	assert.EqualError(t, err, want)
	assert.EqualError(t, ms.Judge(context.Background(), c).Err, want)
}

// TestReadBaselineRefuses: what is no baseline, one of another schema, and one that is too large.
func TestReadBaselineRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "b.json")
	for _, tt := range []struct{ why, data, want string }{
		{"no JSON", "{", path + ": not a baseline: unexpected end of JSON input"},
		{"another type", "[]", path + ": not a baseline: json: cannot unmarshal array into Go value of type struct { " +
			"Schema *int \"json:\\\"schema\\\"\"; Cases suite.baselineCases \"json:\\\"cases\\\"\" }"},
		{"no list of cases", `{"schema":1,"cases":7}`, path + ": not a baseline: cases: got no list, want a list of cases"},
		{"no schema", "{}", path + ": got a baseline without a schema, want 1"},
		{"an older one", `{"schema":0}`, path + ": got a baseline of schema 0, want 1: memspec baseline writes it again"},
		{"a newer one", `{"schema":2}`, path + ": got a baseline of schema 2, want 1: memspec baseline writes it again"},
	} {
		require.NoError(t, os.WriteFile(path, []byte(tt.data), 0o600))
		_, err := ReadBaseline(path)
		assert.EqualError(t, err, tt.want, tt.why)
	}
	_, err := ReadBaseline(filepath.Join(dir, "gone.json"))
	assert.EqualError(t, err, filepath.Join(dir, "gone.json")+": no such file or directory")
	_, err = ReadBaseline(dir)
	assert.EqualError(t, err, dir+": got a folder, want a regular file")
	empty := `{"schema":1}`
	_, err = readBaseline(strings.NewReader(empty), path, int64(len(empty)))
	require.NoError(t, err, "as large as may be")
	_, err = readBaseline(strings.NewReader(empty), path, int64(len(empty)-1))
	assert.EqualError(t, err, path+": got a baseline of more than 11 bytes")
	assert.Equal(t, 256<<20, maxBaseline)

	require.NoError(t,
		os.WriteFile(path,
			[]byte(`{"schema":1,"cases":[{"name":"b","delta":1},{"name":"c","delta":2},{"name":"a","delta":3}]}`), 0o600))
	b, err := ReadBaseline(path)
	require.NoError(t, err)
	for name, delta := range map[string]int{"a": 3, "b": 1, "c": 2} {
		require.NotNil(t, b.Case(name), "%s, in no order: merged by hand", name)
		assert.EqualValues(t, delta, b.Case(name).Delta)
	}
	assert.Nil(t, b.Case("d"))
}
