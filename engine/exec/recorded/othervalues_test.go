package recorded_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	file "github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// A figure that values decide passes only where its upper end keeps the budget, and fails only
// where its lower end breaks it.
func TestValuesDecideAtBothEnds(t *testing.T) {
	both := testcase.Less()
	both.Runs = append(both.Runs, testcase.More("most", 512*units.MiB).Runs...)
	for _, tt := range []struct {
		name   string
		values file.Values
		limit  units.Bytes
		allow  []string
		want   verdict.Outcome
		says   string
	}{
		{"all the same",
			file.Values{Runs: []file.ValueRun{{Values: "least", As: file.Balanced}, {Values: "most", As: file.Balanced}}},
			64 * units.MiB, nil, verdict.Pass, ""},
		{"a read that gives the same in every run",
			file.Values{Runs: []file.ValueRun{{Values: "least", As: file.Balanced}, {Values: "most", As: file.Balanced}}},
			64 * units.MiB, nil, verdict.Inconclusive, "aten::item read 1 value that no kernel computed: the figure may be " +
				"too low, and no upper one is known"},
		{"above the upper end", both, 700 * units.MiB, nil, verdict.Pass, ""},
		{"at the upper end", both, 524 * units.MiB, nil, verdict.Pass, ""},
		{"between", both, 523 * units.MiB, nil, verdict.Inconclusive, "values that no kernel computed decide: between 5.0 " +
			"MiB and 524.0 MiB; assume: states which is meant for zoo.py:12"},
		{"below what is likely, above the lower end", both, 5 * units.MiB, nil, verdict.Inconclusive,
			"between 5.0 MiB and 524.0 MiB"},
		{"below the lower end", both, 4 * units.MiB, nil, verdict.Fail, ""},
		{"allowed", both, 64 * units.MiB, []string{"value-decides"}, verdict.Pass, ""},
		{"allowed and broken", both, 4 * units.MiB, []string{"value-decides"}, verdict.Fail, ""},
		{"the upper end does not fit the device", testcase.More("skewed", 64*units.GiB), 700 * units.MiB, nil,
			verdict.Inconclusive, "and 1 of 2 runs do not fit the device"},
		{"an end that failed",
			file.Values{Lines: both.Lines, Runs: []file.ValueRun{{Values: "most", Failed: "IndexError: no such row"}}},
			700 * units.MiB, nil, verdict.Inconclusive,
			`zoo.py:12 (route) reads a value that no kernel computed, which may decide what is taken: with the values "most" the run fails (IndexError: no such row)`},
		{"a line without an upper end", func() file.Values {
			v := testcase.More("most", units.MiB)
			v.Lines = append(v.Lines, file.ValueLine{File: "zoo.py", Line: 20, Open: "an integer of no known range"})
			return v
		}(), 700 * units.MiB, nil, verdict.Inconclusive, "zoo.py:20 reads a value that no kernel computed, which may " +
			"decide what is taken: an integer of no known range"},
		{"more lines than four", func() file.Values {
			v := testcase.More("most", units.MiB)
			for i := range 4 {
				v.Lines = append(v.Lines, file.ValueLine{File: "zoo.py", Line: 20 + i})
			}
			return v
		}(), 700 * units.MiB, nil, verdict.Inconclusive, "5 lines read values that no kernel computed before what is taken " +
			"differs, the first zoo.py:12"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, cases := testcase.Project(t, testcase.SourceOnly, "")
			c := cases[0]
			c.Budgets, c.Allow = testcase.AtMost(report.Allocated, tt.limit), tt.allow
			if len(tt.values.Lines) > 0 {
				tt.values.Lines[0].Function = "route"
			}
			rec := testcase.Reading(tt.values)
			if strings.HasPrefix(tt.name, "a read that gives the same") {
				rec.Notes[0].ID = string(note.ValueRead)
			}
			testcase.Keep(t, rec, c.Captured())
			r := suite.Judge(context.Background(), c)
			require.NoError(t, r.Err)
			assert.Equal(t, tt.want.String(), r.Verdict.Outcome.String(), r.Line())
			f := r.Verdict.Findings[0]
			assert.Contains(t, f.Why, tt.says)
			if tt.want != verdict.Inconclusive {
				assert.Empty(t, f.Why)
			}
		})
	}
}

// Values that decide nothing leave the figure exact, and the reads are said.
func TestValuesThatDecideNothing(t *testing.T) {
	rec := testcase.Reading(file.Values{Runs: []file.ValueRun{{Values: "least", As: file.Balanced}}})
	rec.Notes[0].ID = string(note.ValueCompared)
	c := testcase.On(t, "t4", filepath.Join(t.TempDir(), "a.rec"))
	c.Platform.Torch = platform.Version{Major: 2, Minor: 15}
	testcase.Keep(t, rec, c.Artifact)
	r, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	assert.Empty(t, r.OtherValues)
	assert.Equal(t, report.Exact, r.Quality)
	assert.Equal(t, "aten::item read 1 value that no kernel computed; runs with other values take the same",
		r.Notes[0].Text)
}

// Each metric has its ends from all runs, and a total those of the context besides.
func TestEndsOfEachMetric(t *testing.T) {
	c := testcase.On(t, "t4", "")
	testcase.WithValues(t, testcase.More("most", 512*units.MiB))(&c)
	r, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	assert.Equal(t, report.Bound, r.Quality)
	require.Len(t, r.OtherValues, 1)
	for _, m := range report.Metrics() {
		low, high, known := r.Ends(m)
		require.True(t, known, m)
		grows := m != report.Weights
		assert.Equal(t, grows, high > low, "%s: %s to %s", m, low, high)
	}
	_, total, _ := r.Ends(report.Total)
	_, reserved, _ := r.Ends(report.Reserved)
	assert.Equal(t, reserved+c.Platform.Device.Context, total)
}

// What a .rec may not say of runs with other values is refused where it stands.
func TestValuesThatAreRefused(t *testing.T) {
	for _, tt := range []struct {
		edit func(v *file.Values)
		want string
	}{
		{func(v *file.Values) {
			v.Runs[0].Values = "balanced"
		}, `values: run 0: got values "balanced", want one of [least most skewed]`},
		{func(v *file.Values) { v.Runs = append(v.Runs, v.Runs[0]) }, `values: run 1: got values "most" twice`},
		{func(v *file.Values) { v.Runs = nil }, "values: got 0 runs, want 1 to 3"},
		{func(v *file.Values) {
			v.Runs[0].As = "skewed"
		}, `values: run 0: got the events of "skewed", want one of [balanced]`},
		{func(v *file.Values) { v.Runs[0].As, v.Runs[0].Failed = "balanced", "x" }, "values: run 0: got a run that failed " +
			"with events of another"},
		{func(v *file.Values) { v.Runs[0].Failed = "x" }, "values: run 0: got events of a run that has none"},
		{func(v *file.Values) { v.Runs[0].Shared = 1 << 30 }, "values: run 0: got 1073741824 events shared of "},
		{func(v *file.Values) { v.Runs[0].Shared = -1 }, "values: run 0: got -1 events shared of "},
		{func(v *file.Values) { v.Runs[0].Count = 7 }, "values: run 0: got 3 events, want 7"},
		{func(v *file.Values) { v.Runs[0].Events[1].Site = 99 }, "values: run 0: event "},
		{func(v *file.Values) { v.Runs[0].Passes = v.Runs[0].Passes[:2] }, "values: run 0: got 2 phases of a run that came " +
			"to its end, want 3"},
		{func(v *file.Values) { v.Lines[0].Line = -1 }, "values: line 0: got line -1"},
	} {
		v := testcase.More("most", units.MiB)
		tt.edit(&v)
		assert.ErrorContains(t, testcase.Reading(v).Check(), tt.want)
	}
	rec := testcase.Reading(testcase.More("most", units.MiB))
	rec.Where = file.OnCUDA
	assert.ErrorContains(t, rec.Check(), fmt.Sprintf("values: got them of a run on %s, want one on a pretend GPU",
		file.OnCUDA))
}

// The lines of a .rec say no more events than its limits allow, whatever its counts are.
func TestValuesOfADamagedFile(t *testing.T) {
	rec := testcase.Reading(testcase.More("most", units.MiB))
	n := len(rec.Events)
	for _, tt := range []struct{ from, to, want string }{
		{fmt.Sprintf(`"shared":%d`, n), fmt.Sprintf(`"shared":%d`, n+1),
			fmt.Sprintf("values: run 0: got %d events shared of %d, and 3 more", n+1, n)},
		{`"events":3`, `"events":4194304`, "values: run 0: got "},
		{`"events":3`, `"events":-3`, "values: run 0: got "},
		{`"events":3`, `"events":4`, "values: run 0: event 3: got the end of the file, want a line"},
		{`"events":3`, `"events":2`, "got something after the last event"},
		{`"values":"most"`, `"values":"zero"`, `values: run 0: got values "zero", want one of [least most skewed]`},
		{`"runs":[`, `"runs":[{},{},{},`, "values: got 4 runs, want at most 3"},
	} {
		var b, again bytes.Buffer
		require.NoError(t, rec.Encode(&b))
		z, err := gzip.NewReader(&b)
		require.NoError(t, err)
		text, err := io.ReadAll(z)
		require.NoError(t, err)
		require.Contains(t, string(text), tt.from)
		w := gzip.NewWriter(&again)
		_, err = w.Write(bytes.Replace(text, []byte(tt.from), []byte(tt.to), 1))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		_, err = file.Decode(&again)
		assert.ErrorContains(t, err, tt.want)
	}
}
