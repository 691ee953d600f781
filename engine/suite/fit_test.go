package suite_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// The answer of a search is that of trying every value, for every limit on resnet50's reserved
// memory, which rises and falls with the batch. The figure that decides is the upper one, and with
// judge: likely the likely one.
func TestLargestIsThatOfTryingAll(t *testing.T) {
	for _, basis := range []verdict.Basis{verdict.ByUpper, verdict.ByLikely} {
		t.Run(string(basis), func(t *testing.T) { largestIsThatOfTryingAll(t, basis) })
	}
}

func largestIsThatOfTryingAll(t *testing.T, basis verdict.Basis) {
	base := resnet50On(t)
	const most = 24
	reserved, likely := make([]units.Bytes, most+1), make([]units.Bytes, most+1)
	var models suite.Models
	for b := int64(1); b <= most; b++ {
		r, err := models.Run(context.Background(), atBatch(base, b))
		require.NoError(t, err)
		reserved[b], likely[b] = r.Report.Upper.Reserved, r.Report.Peak.Reserved
		if basis == verdict.ByLikely {
			reserved[b] = likely[b]
		}
	}
	falls := false
	for i, limit := range reserved[1:] {
		want := int64(0)
		for b := range int64(most) {
			if reserved[b+1] <= limit {
				want = b + 1
			} else if want > 0 && want < b+1 {
				falls = falls || reserved[min(b+2, most)] <= limit
			}
		}
		if i%4 != 0 && !golden.Whole() {
			continue
		}
		at := func(b int64) (spec.Case, error) {
			c := atBatch(base, b)
			c.Budgets, c.Judge = []verdict.Budget{{Metric: report.Reserved, Limit: limit}}, basis
			return c, nil
		}
		got, err := models.Largest(context.Background(), at, most)
		require.NoError(t, err)
		assert.Equal(t, want, got.Largest, "with %s", limit)
		if got.Largest < most {
			require.NotNil(t, got.Next)
			assert.Equal(t, want+1, got.Next.Value)
			assert.Equal(t, likely[want+1], got.Next.Predicted)
		}
	}
	assert.True(t, falls, "some limit has a gap, or the test shows nothing")
}

// A search makes no case above its bound.
func TestASearchStaysBelowItsBound(t *testing.T) {
	var models suite.Models
	var values []int64
	_, err := models.Largest(context.Background(), func(n int64) (spec.Case, error) {
		values = append(values, n)
		return spec.Case{}, errors.New("no case")
	}, 1)
	require.ErrorContains(t, err, "no case")
	assert.Equal(t, int64(1), slices.Max(values))
}

func resnet50On(t *testing.T) spec.Case {
	t.Helper()
	return testcase.On(t, "a10g", "../../testdata/artifacts/torchvision/resnet50.script.pt", "float32[1,3,224,224]")
}

func atBatch(c spec.Case, b int64) spec.Case {
	in, err := spec.ParseInput("float32[B,3,224,224]")
	if err == nil {
		in, err = in.Bind(map[string]int64{"B": b})
	}
	if err != nil {
		panic(err)
	}
	c.Inputs = []spec.Input{in}
	return c
}

func TestAffine(t *testing.T) {
	for _, c := range []struct {
		xs   []int64
		ys   []units.Bytes
		a, b units.Bytes
		ok   bool
		why  string
	}{
		{[]int64{1, 2, 3}, []units.Bytes{15, 25, 35}, 5, 10, true, ""},
		{[]int64{2, 4, 8}, []units.Bytes{25, 45, 85}, 5, 10, true, "gaps of any width"},
		{[]int64{1, 2, 3}, []units.Bytes{15, 25, 36}, 0, 0, false, "a byte off"},
		{[]int64{1, 2}, []units.Bytes{15, 25}, 0, 0, false, "two points are always on a line"},
		{[]int64{1, 3, 5}, []units.Bytes{10, 15, 20}, 0, 0, false, "a slope of half a byte"},
		{[]int64{1, 1, 2}, []units.Bytes{10, 10, 20}, 0, 0, false, "twice the same value"},
	} {
		a, b, ok := suite.Affine(c.xs, c.ys)
		assert.Equal(t, c.ok, ok, c.why)
		assert.Equal(t, c.a, a, c.why)
		assert.Equal(t, c.b, b, c.why)
	}
}

// Every remedy that is reported was run: the case passes with it.
func TestRemedies(t *testing.T) {
	cases, err := spec.Parse("memspec.yaml", []byte(`version: 1
defaults: {device: t4}
models:
  big: {artifact: ../../testdata/artifacts/torchvision/resnet50.script.pt, inputs: ["float32[B,3,224,224]"], dims: {B: 2000}, budget: {reserved: 60GiB}, judge: likely}
  tight: {artifact: ../../testdata/artifacts/torchvision/resnet50.script.pt, inputs: ["float32[B,3,224,224]"], dims: {B: 8}, budget: {reserved: 200MiB}}
  none: {artifact: ../../testdata/artifacts/torchvision/resnet50.script.pt, inputs: ["float32[B,3,224,224]"], dims: {B: 1}, budget: {weights: 1MiB}}
  upper: {artifact: ../../testdata/artifacts/torchvision/resnet50.script.pt, inputs: ["float32[B,3,224,224]"], dims: {B: 2000}, budget: {reserved: 60GiB}}
`))
	require.NoError(t, err)
	var models suite.Models
	remedies := func(i int) []string {
		r := models.Judge(context.Background(), cases[i])
		require.Equal(t, verdict.Fail, r.Verdict.Outcome)
		return models.Remedies(context.Background(), r)
	}
	assert.Equal(t, []string{"B=1142", "device: rtx-5090 (31.37 GiB)"}, remedies(0))
	at, err := cases[0].With(spec.Dim{Name: "B", Value: 1142})
	require.NoError(t, err)
	assert.Equal(t, verdict.Pass, models.Judge(context.Background(), at).Verdict.Outcome)
	at.Dims, at.Inputs = nil, atBatch(at, 1143).Inputs
	assert.Equal(t, verdict.Fail, models.Judge(context.Background(), at).Verdict.Outcome)

	for _, remedy := range remedies(1) {
		assert.Regexp(t, `^(B=[1-7]|alloc_conf: expandable_segments:True \([0-9.]+ MiB reserved\))$`, remedy)
	}
	assert.NotEmpty(t, remedies(1))
	assert.Empty(t, remedies(2), "nothing makes weights smaller")

	assert.Equal(t, []string{"B=922", "device: v100-32gb (31.73 GiB)"}, remedies(3), "the upper figure has to fit, too")
	for batch, want := range map[int64]verdict.Outcome{922: verdict.Pass, 923: verdict.Inconclusive} {
		at, err := cases[3].With(spec.Dim{Name: "B", Value: batch})
		require.NoError(t, err)
		assert.Equal(t, want, models.Judge(context.Background(), at).Verdict.Outcome, "B=%d", batch)
	}
}
