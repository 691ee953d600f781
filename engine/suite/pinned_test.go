package suite_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// withPinned is the result of a program whose recording has that much page-locked memory of the
// host; nil where it records none. more are the case's keys.
func withPinned(t *testing.T, pinned *units.Bytes, more string) *suite.Result {
	t.Helper()
	const yaml = "version: 1\nmodels:\n  train:\n    program: zoo.py\n    device: t4\n"
	_, cases := testcase.Project(t, yaml+more, "run()\n")
	rec := recordedProgram("run()\n")
	rec.HostPinned = pinned
	testcase.Keep(t, rec, cases[0].Captured())
	r := suite.Judge(context.Background(), cases[0])
	require.NoError(t, r.Err)
	return r
}

func TestABudgetOnPageLockedMemory(t *testing.T) {
	size := func(n units.Bytes) *units.Bytes { return &n }
	for _, c := range []struct {
		pinned *units.Bytes
		keys   string
		want   verdict.Outcome
		why    string
	}{
		{size(64 * units.MiB), "    budget: {host_pinned: 64MiB}\n", verdict.Pass, "at the limit"},
		{size(64*units.MiB + 1), "    budget: {host_pinned: 64MiB}\n", verdict.Fail, "over it"},
		{size(0), "    budget: {host_pinned: 0}\n", verdict.Pass, "none was taken"},
		{nil, "    budget: {host_pinned: 64MiB}\n", verdict.Inconclusive, "no run on a pretend GPU recorded it"},
		{size(units.TiB), "    budget: {total: 1GiB, reserved: 1GiB}\n", verdict.Pass, "no part of the device's memory"},
	} {
		assert.Equal(t, c.want, withPinned(t, c.pinned, c.keys).Verdict.Outcome, c.keys+": "+c.why)
	}
}

func TestPageLockedMemoryInAReport(t *testing.T) {
	r := withPinned(t, nil, "    budget: {host_pinned: 64MiB}\n")
	assert.Equal(t, "page-locked memory of the host is not known: a recording of a run on a pretend GPU has it",
		r.Verdict.Findings[0].Why)
	pinned := units.Bytes(units.MiB)
	r = withPinned(t, &pinned, "    budget: {}\n")
	r.Report.OtherValues = []report.OtherValues{{Values: "most"}}
	_, _, known := r.Report.Ends(report.HostPinned)
	assert.False(t, known, "runs with other values do not record it")
	for pinned, shown := range map[units.Bytes]bool{units.MiB: true, units.MiB - 1: false} {
		r = withPinned(t, &pinned, "    budget: {}\n")
		var text bytes.Buffer
		require.NoError(t, report.WriteText(&text, r.Report))
		assert.Equal(t, shown, bytes.Contains(text.Bytes(), []byte("host pinned")), pinned)
	}
}
