package suite_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// withNCCL is the result of a program whose recording has a range of what NCCL takes; more are the
// case's keys.
func withNCCL(t *testing.T, more string) *suite.Result {
	t.Helper()
	_, cases := testcase.Project(t, "version: 1\nmodels:\n  train:\n    program: zoo.py\n"+more, "run()\n")
	rec := recordedProgram("run()\n")
	rec.NCCL = &recording.NCCL{Low: 100 * units.MiB, High: 2 * units.GiB, Communicators: 3}
	testcase.Keep(t, rec, cases[0].Captured())
	r := suite.Judge(context.Background(), cases[0])
	require.NoError(t, r.Err)
	return r
}

// A total counts NCCL at both ends; reserved and allocated do not depend on it. The t4's context
// (134.9 MiB) is known, and the program reserves 40 MiB.
func TestATotalHasNCCL(t *testing.T) {
	for _, c := range []struct {
		keys string
		want verdict.Outcome
		why  string
	}{
		{"    budget: {total: 3GiB}\n", verdict.Pass, "the most keeps it"},
		{"    budget: {total: 1GiB}\n", verdict.Inconclusive, "between the ends"},
		{"    budget: {total: 200MiB}\n", verdict.Fail, "the least breaks it"},
		{"    nccl: 500MiB\n    budget: {total: 1GiB}\n", verdict.Pass, "stated"},
		{"    nccl: 1GiB\n    budget: {total: 1GiB}\n", verdict.Fail, "stated"},
		{"    budget: {reserved: 64MiB, allocated: 64MiB}\n", verdict.Pass, "no part of them"},
	} {
		assert.Equal(t, c.want, withNCCL(t, "    device: t4\n"+c.keys).Verdict.Outcome, c.keys+": "+c.why)
	}
	r := withNCCL(t, "    device: t4\n    budget: {total: 1GiB}\n")
	assert.Equal(t, "NCCL takes between 100.0 MiB and 2.00 GiB, by its channels and connections: give nccl:",
		r.Verdict.Findings[0].Why)
	assert.Equal(t, &report.NCCL{Low: 100 * units.MiB, High: 2 * units.GiB, Communicators: 3}, r.Report.NCCL)
	assert.Equal(t, report.Exact, r.Report.Quality)
	low, high, known := r.Report.Ends(report.Total)
	assert.True(t, known)
	assert.Equal(t, 2*units.GiB-100*units.MiB, high-low)
	assert.Nil(t, r.Report.Peak.Total)

	var text bytes.Buffer
	require.NoError(t, report.WriteText(&text, r.Report))
	assert.Contains(t, strings.Join(strings.Fields(text.String()), " "), "100.0 MiB to 2.00 GiB, by formula for 3 "+
		"communicators; `nccl:` states it")
	r = withNCCL(t, "    device: t4\n    nccl: 1GiB\n    budget: {total: 2GiB}\n")
	require.NotNil(t, r.Report.Peak.Total)
	assert.Equal(t, r.Report.Peak.Reserved+r.Report.Context.Low+units.GiB, *r.Report.Peak.Total)
}

// Where the context has a range too, both are said.
func TestATotalHasNCCLAndAContext(t *testing.T) {
	r := withNCCL(t, "    device: h100-sxm-80gb\n    budget: {total: 1GiB}\n    allow: [other-device]\n")
	assert.Equal(t, verdict.Inconclusive, r.Verdict.Outcome)
	assert.Regexp(t, "^a CUDA context on h100-sxm-80gb takes between .*: give context: for it under devices:; NCCL "+
		"takes between ", r.Verdict.Findings[0].Why)
}
