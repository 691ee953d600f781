package suite

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/verdict"
)

// TestValuesOfASearch: which values a search tries, in their order, and what it finds. A value that
// does not fit takes more than its budget of weights; one that cannot asks for more than its budget
// of allocated memory, which ends a scan.
func TestValuesOfASearch(t *testing.T) {
	const cannot = 40 // and all above
	for _, tt := range []struct {
		why     string
		most    int64
		fits    func(int64) bool
		largest int64
		next    int64 // 0: none
		scanned bool
		tried   []int64
	}{
		{"all fit", 6, func(int64) bool { return true }, 6, 0, false, []int64{1, 2, 4, 6, 5, 3}},
		{"none fits", 6, func(int64) bool { return false }, 0, 1, false, []int64{1, 2, 3, 4}},
		{"a limit within the doubling", 64, func(v int64) bool { return v <= 11 }, 11, 12, false,
			[]int64{1, 2, 4, 8, 16, 12, 10, 11, 13, 9, 14, 15, 7, 18, 19, 3, 6}},
		{"a limit behind the last doubling", 13, func(v int64) bool { return v <= 12 }, 12, 13, false,
			[]int64{1, 2, 4, 8, 13, 11, 12, 10, 9, 5, 6}},
		{"the bound itself", 16, func(v int64) bool { return v <= 16 }, 16, 0, false,
			[]int64{1, 2, 4, 8, 16, 15, 14, 13, 12, 9}},
		{"a bound of one", 1, func(v int64) bool { return v <= 1 }, 1, 0, false, []int64{1}},
		{"one above fits", 64, func(v int64) bool { return v <= 11 || v == 14 }, 14, 15, true,
			append(append([]int64{1, 2, 4, 8, 16, 12, 10, 11, 13, 9, 14, 11, 22, 44, 33, 38, 41, 39, 40},
				down(39, 17)...), 15)},
		{"one below does not", 64, func(v int64) bool { return v <= 11 && v != 4 }, 11, 12, true,
			append([]int64{1, 2, 4, 3, 5, 3, 6, 12, 24, 48, 36, 42, 39, 40}, down(39, 11)...)},
		{"one further above fits", 64, func(v int64) bool { return v <= 11 || v == 19 }, 19, 20, true,
			append([]int64{1, 2, 4, 8, 16, 12, 10, 11, 13, 9, 14, 15, 7, 18, 19, 11, 22, 44, 33, 38, 41, 39, 40},
				down(39, 20)...)},
	} {
		base := testcase.On(t, "none", "../../testdata/artifacts/small/module_list.script.pt", "float32[1,32]")
		var tried []int64
		at := func(v int64) (spec.Case, error) {
			if len(tried) == 0 || tried[len(tried)-1] != v {
				tried = append(tried, v)
			}
			c := base
			c.Budgets = testcase.AtMost(report.Weights, 1<<30)
			if !tt.fits(v) {
				c.Budgets = testcase.AtMost(report.Weights, 1)
			}
			if v >= cannot {
				c.Budgets = append(c.Budgets, verdict.Budget{Metric: report.Allocated, Limit: 1})
			}
			return c, nil
		}
		var models Models
		found, err := models.Largest(context.Background(), at, tt.most)
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.largest, found.Largest, tt.why)
		assert.Equal(t, tt.scanned, found.Scanned, tt.why)
		if tt.next == 0 {
			assert.Nil(t, found.Next, tt.why)
		} else if assert.NotNil(t, found.Next, tt.why) {
			assert.Equal(t, tt.next, found.Next.Value, tt.why)
		}
		assert.Equal(t, report.Exact, found.Quality, tt.why)
		assert.Equal(t, tt.tried, tried, tt.why)
	}
}

// down returns the numbers from one down to another.
func down(from, to int64) (out []int64) {
	for ; from >= to; from-- {
		out = append(out, from)
	}
	return out
}

// TestASearchEndsAtAnError: an error of a case or of its run ends a search, wherever it comes.
func TestASearchEndsAtAnError(t *testing.T) {
	gone := errors.New("gone")
	base := testcase.On(t, "none", "../../testdata/artifacts/small/module_list.script.pt", "float32[1,32]")
	for _, bad := range []int64{1, 2, 4, 5, 6, 7, 8} {
		var models Models
		_, err := models.Largest(context.Background(), func(v int64) (spec.Case, error) {
			if v == bad {
				return spec.Case{}, gone
			}
			c := base
			c.Budgets = testcase.AtMost(report.Weights, 1<<30)
			if v > 6 {
				c.Budgets = testcase.AtMost(report.Weights, 1)
			}
			return c, nil
		}, 8)
		assert.ErrorIs(t, err, gone, bad)
	}
	var models Models
	for _, most := range []int64{0, -1, EndValue + 1} {
		_, err := models.Largest(context.Background(), nil, most)
		assert.ErrorContains(t, err, "want one up to a number from 1 to 1099511627776")
	}
}

// TestLeastLimit: the least of the budgets of memory and of the device's memory.
func TestLeastLimit(t *testing.T) {
	c := testcase.On(t, "none", "m.pt")
	assert.Zero(t, leastLimit(&c))
	c.Budgets = []verdict.Budget{{Metric: report.Weights, Limit: 1}, {Metric: report.Delta, Limit: 1}}
	assert.Zero(t, leastLimit(&c), "others say nothing of what is asked for")
	for _, m := range []report.Metric{report.Allocated, report.Reserved, report.Total} {
		c.Budgets = []verdict.Budget{{Metric: m, Limit: 7}, {Metric: report.Reserved, Limit: 8}}
		assert.EqualValues(t, 7, leastLimit(&c), m)
	}
	on := testcase.On(t, "t4", "m.pt")
	device := leastLimit(&on)
	assert.Positive(t, device)
	on.Budgets = testcase.AtMost(report.Total, device-1)
	assert.Equal(t, device-1, leastLimit(&on))
	on.Budgets = testcase.AtMost(report.Total, device+1)
	assert.Equal(t, device, leastLimit(&on))
}

// TestLimitInWords: what a value breaks, with the limit where there is one, and why.
func TestLimitInWords(t *testing.T) {
	for want, l := range map[string]Limit{
		"reserved 2.0 KiB":                     {Metric: report.Reserved, Predicted: 2048},
		"reserved 2.0 KiB of 1 B":              {Metric: report.Reserved, Predicted: 2048, Limit: 1},
		"reserved 2.0 KiB of 1.0 KiB: no room": {Metric: report.Reserved, Predicted: 2048, Limit: 1024, Why: "no room"},
		"kv_tokens 2,048, at least 4,096":      {Metric: report.KVTokens, Predicted: 2048, Limit: 4096},
		"kv_tokens 2,048: it ends":             {Metric: report.KVTokens, Predicted: 2048, Why: "it ends"},
	} {
		assert.Equal(t, want, l.String())
	}
}
