package suite

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/verdict"
)

const convBlock = "../../testdata/artifacts/small/conv_block.script.pt"

// oneCase is the only case of a model of convBlock with these keys.
func oneCase(t *testing.T, keys string) spec.Case {
	t.Helper()
	cases, err := spec.Parse("memspec.yaml", []byte("version: 1\nmodels:\n  m: {artifact: "+convBlock+", "+keys+"}\n"))
	require.NoError(t, err)
	require.Len(t, cases, 1)
	return cases[0]
}

// A fits: that holds leaves a case undecided whose own budgets are.
func TestFitsLeavesABudgetUndecided(t *testing.T) {
	var ms Models
	r := ms.Judge(context.Background(),
		oneCase(t, `device: a10g, inputs: ["float32[B,3,32,32]"], dims: {B: 1}, fits: {B: 2},
    budget: {total: 1000MiB*B - 750MiB}`))
	require.NoError(t, r.Err)
	assert.Equal(t, verdict.Inconclusive, r.Verdict.Outcome)
	assert.Equal(t, []string{"fits at B=2"}, r.Fits)
}

// A case whose fits: fails does not pass by a regression: that holds.
func TestRegressionDoesNotHideFits(t *testing.T) {
	c := oneCase(t,
		`device: t4, inputs: ["float32[B,3,32,32]"], dims: {B: 1}, fits: {B: 10000000}, regression: {reserved: 50%}`)
	before, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	c.Baseline = baselineOf(t, c.Name, before)
	var ms Models
	r := ms.Judge(context.Background(), c)
	require.NoError(t, r.Err)
	require.NotNil(t, r.Before)
	assert.Equal(t, verdict.Fail, r.Verdict.Outcome)
}

func baselineOf(t *testing.T, name string, before *report.Report) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "baseline.json")
	f, err := os.Create(path)
	require.NoError(t, err)
	b := Baseline{Cases: []BaselineCase{BaselineOf(name, before)}}
	require.NoError(t, b.Write(f))
	require.NoError(t, f.Close())
	return path
}

// regression: compares the plain figure with the plain figure before, and the upper figure with the
// upper one: an estimate that has not changed passes, however far its upper figure lies above the
// limit of the plain one.
func TestRegressionComparesLikeWithLike(t *testing.T) {
	c := oneCase(t, `device: a10g, inputs: ["float32[8,3,64,64]"], regression: {reserved: 1%}`)
	now, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	require.NotNil(t, now.Upper)
	require.Greater(t, now.Upper.Reserved, now.Peak.Reserved*101/100, "or the test shows nothing")
	judge := func(change func(*report.Report)) *Result {
		before := *now
		up := *now.Upper
		before.Upper = &up
		change(&before)
		c.Baseline = baselineOf(t, c.Name, &before)
		var ms Models
		return ms.Judge(context.Background(), c)
	}
	assert.Equal(t, verdict.Pass, judge(func(*report.Report) {}).Verdict.Outcome)
	assert.Equal(t, verdict.Fail, judge(func(b *report.Report) { b.Peak.Reserved /= 2 }).Verdict.Outcome)

	grown := judge(func(b *report.Report) { b.Upper.Reserved /= 2 })
	assert.Equal(t, verdict.Inconclusive, grown.Verdict.Outcome)
	assert.Contains(t, grown.Line(), "over what the upper figure was before and may grow (")
	assert.Equal(t, verdict.Pass, judge(func(b *report.Report) { b.Upper = nil }).Verdict.Outcome,
		"an older baseline does not know it")

	exact := judge(func(b *report.Report) { b.Upper, b.Quality = nil, report.Exact })
	assert.Equal(t, verdict.Inconclusive, exact.Verdict.Outcome, "it was exact, and is an estimate now")
}
