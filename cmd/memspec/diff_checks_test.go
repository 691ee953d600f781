package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
)

func TestReadCheckIsBounded(t *testing.T) {
	read := func(cases string) ([]checkedCase, error) {
		path := filepath.Join(t.TempDir(), "check.json")
		require.NoError(t, os.WriteFile(path, []byte(`{"schema":1,"exit":0,"cases":[`+cases+`]}`), 0o600))
		return readCheck(path)
	}
	one := `{"name":"a","why":"` + strings.Repeat("x", 120) + `"},`
	most := strings.TrimSuffix(strings.Repeat(one, maxChecked), ",")
	got, err := read(most)
	require.NoError(t, err)
	assert.Len(t, got, maxChecked)
	_, err = read(one + most)
	assert.ErrorContains(t, err, "check.json: got more than 100000 cases")
	_, err = read("{}")
	assert.ErrorContains(t, err, "check.json: cases[0]: got no name")
	_, err = read("{}" + strings.Repeat(",{}", 1<<20))
	assert.ErrorContains(t, err, "check.json: got 1048578 objects in 3145762 bytes, want at most")
	got, err = read("")
	require.NoError(t, err)
	assert.NotNil(t, got, "a check of no case is one")
}

// TestWorse: a size is worse where it grew, tokens and requests where they dropped; from nothing
// any size is.
func TestWorse(t *testing.T) {
	at := func(b units.Bytes) *units.Bytes { return &b }
	for _, tt := range []struct {
		metric   report.Metric
		old, new *units.Bytes
		want     float64
	}{
		{report.Allocated, at(100), at(150), 0.5}, {report.Allocated, at(100), at(100), 0},
		{report.Allocated, at(100), at(50), 0}, {report.Allocated, nil, at(50), 0}, {report.Allocated, at(50), nil, 0},
		{report.HostPinned, at(0), at(1), math.Inf(1)}, {report.HostPinned, at(0), at(0), 0},
		{report.KVTokens, at(100), at(150), 0}, {report.KVTokens, at(100), at(75), 0.25},
		{report.Concurrency, at(2), at(0), 1}, {report.Concurrency, at(0), at(2), 0},
	} {
		got := worse(&report.MetricChange{Metric: tt.metric, Old: tt.old, New: tt.new})
		assert.Equal(t, tt.want, got, "%s from %v to %v", tt.metric, tt.old, tt.new)
	}
	change := func(kind string, metrics ...report.MetricChange) caseDiffJSON {
		return caseDiffJSON{Kind: kind, Diff: &report.Difference{Metrics: metrics}}
	}
	half := report.MetricChange{Metric: report.Allocated, Old: at(100), New: at(150)}
	tenth := report.MetricChange{Metric: report.Reserved, Old: at(100), New: at(110)}
	cases := []caseDiffJSON{change("changed", tenth, half, tenth), {Kind: "added"}}
	assert.Equal(t, 0.5, (&checksDiff{Cases: cases}).increase())
	assert.Equal(t, 0.1, (&checksDiff{Cases: []caseDiffJSON{change("unlike", half), change("changed", tenth)}}).increase())
}

// TestChecksOfSeveralFiles: cases of one name are compared with those of their own file, a case
// whose name is the only one whatever its file is.
func TestChecksOfSeveralFiles(t *testing.T) {
	of := func(spec, name string, allocated units.Bytes) checkedCase {
		return checkedCase{Name: name, Spec: spec, Report: &report.Report{Peak: report.Peak{Allocated: allocated}}}
	}
	before := []checkedCase{of("a/memspec.yaml:5", "m", 100), of("a/memspec.yaml:6", "m", 999), of("b/memspec.yaml:5", "m", 200),
		of("c/memspec.yaml:5", "m", 300), of("c/memspec.yaml:9", "n", 400)}
	after := []checkedCase{of("b/memspec.yaml:6", "m", 300), of("a/memspec.yaml:7", "m", 100),
		of("d/memspec.yaml:5", "m", 300), of("d/memspec.yaml:5", "n", 440)}
	d := compareChecks(before, after)
	var got []string
	for _, c := range d.Cases {
		got = append(got, c.Name+" "+c.Kind+" "+c.Change)
	}
	assert.Equal(t, []string{"m changed allocated +100 B (+50.0%)", "m added ", "m removed ",
		"n changed allocated +40 B (+10.0%)"}, got)
	assert.Equal(t, 1, d.Same)
	assert.Equal(t, 0.5, d.increase())
}

// TestCasesWithoutAReport: of a case that one side alone has a report of, nothing can be compared.
func TestCasesWithoutAReport(t *testing.T) {
	with := checkedCase{Report: &report.Report{}}
	for _, tt := range []struct {
		before, after checkedCase
		kind          string
		differ        bool
	}{{checkedCase{}, checkedCase{}, "changed", false}, {with, checkedCase{}, "unknown", true},
		{checkedCase{}, with, "unknown", true}, {with, with, "changed", false}} {
		k, differ := compareCase(tt.before, tt.after)
		assert.Equal(t, []any{tt.kind, tt.differ}, []any{k.Kind, differ})
	}
}

// TestBothFigures: of runs on different devices each metric that both have is stated twice.
func TestBothFigures(t *testing.T) {
	sizes := func(allocated, reserved units.Bytes) *report.Report {
		return &report.Report{Peak: report.Peak{Allocated: allocated, Reserved: reserved}}
	}
	served := &report.Report{Serving: &report.Serving{}}
	whole := sizes(units.MiB, 2*units.MiB)
	assert.Equal(t, "allocated 1.0 MiB before and 3.0 MiB after, reserved 2.0 MiB before and 4.0 MiB after",
		bothFigures(whole, sizes(3*units.MiB, 4*units.MiB)))
	assert.Empty(t, bothFigures(whole, served), "an engine has no allocator's figures")
	assert.Empty(t, bothFigures(served, whole))
}

// TestNoChecks: JSON that is no check is none, a check of another schema is an error.
func TestNoChecks(t *testing.T) {
	for text, want := range map[string]string{
		`{"schema":2,"exit":0,"cases":[]}`:         "check.json: got a check of schema 2, want 1",
		`{"schema":1,"exit":0,"cases":[{}]}`:       "check.json: cases[0]: got no name",
		`{"schema":1,"exit":0,"cases":{"name":1}}`: "", `{"schema":1,"cases":[]}`: "", `{"schema":1,"exit":0}`: "", `[1]`: "",
		`{"schema":1,"exit":0,"cases":[{"name":"a"},{"name":3}]}`: "",
	} {
		path := filepath.Join(t.TempDir(), "check.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		got, err := readCheck(path)
		assert.Nil(t, got, text)
		if want == "" {
			assert.NoError(t, err, text)
			continue
		}
		assert.ErrorContains(t, err, want)
	}
	got, err := readCheck(filepath.Join(t.TempDir(), "none.json"))
	assert.Nil(t, got)
	assert.ErrorContains(t, err, "none.json: no such file or directory")
	got, err = readCheck("check.rec")
	assert.Nil(t, got)
	assert.NoError(t, err, "an artifact")
}
