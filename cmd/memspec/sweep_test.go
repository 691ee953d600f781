package main

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/internal/cli"
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

// TestSweptDim: the one dim with several values is taken from between the others, which stay.
func TestSweptDim(t *testing.T) {
	f := &cli.RunFlags{Dims: []string{"S=7", " B =1..3", "T=5"}}
	dim, values, err := sweptDim(f)
	require.NoError(t, err)
	assert.Equal(t, "B", dim)
	assert.Equal(t, []int64{1, 2, 3}, values)
	assert.Equal(t, []string{"S=7", "T=5", "B"}, f.Dims)
	for want, dims := range map[string][]string{
		"--dim: got several values for A and for B, want them for one":                {"A=1,2", " B =1..2"},
		"sweep: got no dim with several values, want one such as --dim B=1..64":       {"A=1", "B"},
		"--dim B: got the range 2..1, want its end at or behind its beginning":        {"A=1", "B=2..1"},
		"--dim A: got \"x\", want numbers such as 1,2,4, or a range such as 1..64 or": {"A=x,1", "B=1..2"},
	} {
		_, _, err := sweptDim(&cli.RunFlags{Dims: dims})
		assert.ErrorContains(t, err, want)
	}
}

// TestSweepsOfPasses: where a pass takes otherwise than the run, each has its columns; a point that
// lacks a pass has empty ones. What is reserved decides the bars.
func TestSweepsOfPasses(t *testing.T) {
	t.Setenv("COLUMNS", "200")
	size := func(b units.Bytes) *units.Bytes { return &b }
	point := func(value int64, allocated, reserved units.Bytes, passes ...sweptPassJSON) sweptJSON {
		return sweptJSON{Value: value, Allocated: size(allocated), Reserved: size(reserved), Passes: passes, Fits: true}
	}
	pass := func(name string, allocated, reserved units.Bytes) sweptPassJSON {
		return sweptPassJSON{name, allocated, reserved}
	}
	const MiB = units.MiB
	text := func(points ...sweptJSON) string {
		var b strings.Builder
		p := layout.To(cli.NewPrintable(&b))
		p.Table(0, (&sweepJSON{Dim: "B", Points: points}).table())
		require.NoError(t, p.Err)
		return b.String()
	}
	same := point(1, MiB, 2*MiB, pass("first", MiB, 2*MiB), pass("steady", MiB, 2*MiB))
	assert.False(t, same.differ())
	less := point(11, MiB, 4*MiB, pass("first", MiB, 4*MiB), pass("steady", MiB/2, 4*MiB))
	assert.True(t, less.differ())
	kept := point(3, MiB, 2*MiB, pass("first", MiB, MiB), pass("steady", MiB, 2*MiB))
	assert.True(t, kept.differ())
	alone := point(4, MiB, 2*MiB, pass("first", MiB/2, MiB))
	assert.False(t, alone.differ(), "the one pass is the run")
	alone.Fits, less.Unsure = false, true
	assert.Equal(t, `B  allocated  reserved  fits
1    1.0 MiB   2.0 MiB  yes   ████████████████░░░░░░░░░░░░░░░░
4    1.0 MiB   2.0 MiB  no    ████████████████░░░░░░░░░░░░░░░░
`, text(same, alone))
	assert.Equal(t, ` B  first: allocated  reserved  steady: allocated  reserved  fits
 1           1.0 MiB   2.0 MiB            1.0 MiB   2.0 MiB  yes   ████████░░░░░░░░
11           1.0 MiB   4.0 MiB          512.0 KiB   4.0 MiB  ?     ████████░░░░░░░░░░░░░░░░░░░░░░░░
 4         512.0 KiB   1.0 MiB                               no    ████████░░░░░░░░
`, text(same, less, alone))
	served := sweptJSON{Value: 5, Serving: map[report.Metric]units.Bytes{report.KVTokens: 7000}}
	assert.Equal(t, "B  loaded  activation  kv_tokens  concurrency  fits\n"+
		"5                          7,000               no\n", text(served))
}
