package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSweptValues(t *testing.T) {
	for _, tt := range []struct {
		list, why string
		want      []int64
	}{
		{"1,2,8", "a list is what it says", []int64{1, 2, 8}},
		{"3..6", "a short range is every value of it", []int64{3, 4, 5, 6}},
		{"5..5", "a range of one value", []int64{5}},
		{"8..64..28", "with a step, also where the end is none of its values", []int64{8, 36, 64}},
		{"8..63..28", "", []int64{8, 36}},
		{"1..2, 7..8", "several ranges", []int64{1, 2, 7, 8}},
		{"9223372036854775806..9223372036854775807", "the largest numbers", []int64{math.MaxInt64 - 1, math.MaxInt64}},
		{"9223372036854775807..9223372036854775807", "", []int64{math.MaxInt64}},
		{"9223372036854775800..9223372036854775807..5", "a step over the largest number",
			[]int64{math.MaxInt64 - 7, math.MaxInt64 - 2}},
		{"0..9223372036854775807..9223372036854775807", "", []int64{0, math.MaxInt64}},
	} {
		got, err := valuesOf(tt.list)
		require.NoError(t, err, "%s %s", tt.list, tt.why)
		assert.Equal(t, tt.want, got, "%s %s", tt.list, tt.why)
	}
	for _, tt := range []struct {
		list  string
		first []int64
		last  []int64
		n     int
	}{
		{"1..128", []int64{1, 2, 3}, []int64{127, 128}, 128},
		{"1..129", []int64{1, 2, 4}, []int64{128, 129}, 66}, // 1, the even ones, 129
		{"1..4096", []int64{1, 32, 64}, []int64{4064, 4096}, 129},
		{"7..9223372036854775807", []int64{7, 1 << 56, 2 << 56}, []int64{127 << 56, math.MaxInt64}, 129},
	} {
		got, err := valuesOf(tt.list)
		require.NoError(t, err, tt.list)
		require.Len(t, got, tt.n, tt.list)
		assert.Equal(t, tt.first, got[:3], tt.list)
		assert.Equal(t, tt.last, got[len(got)-2:], tt.list)
	}
	for list, says := range map[string]string{
		"8..1":                      "want its end at or behind",
		"8..1..1":                   "want its end at or behind",
		"1..10001..1":               "got more than 10000 values",
		"1..10000..1,1":             "got more than 10000 values",
		"0..9223372036854775807..1": "got more than 10000 values",
		"1..5..0":                   "want numbers such as",
		"1..2..3..4":                "want numbers such as",
		"-1..2":                     "want numbers such as",
		"1..99999999999999999999":   "want numbers such as",
		"1..":                       "want numbers such as",
		"":                          "want numbers such as",
	} {
		_, err := valuesOf(list)
		assert.ErrorContains(t, err, says, list)
	}
}
