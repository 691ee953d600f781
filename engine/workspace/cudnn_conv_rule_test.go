package workspace

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// answeredRows are cuDNN's answers to the convolutions of five models (testdata/workspace/README.md).
type answeredRows struct {
	Convolutions []string
	Answers      map[string]map[string][]string
}

func readRows(t *testing.T) answeredRows {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "workspace", "rows.json"))
	require.NoError(t, err)
	var r answeredRows
	require.NoError(t, json.Unmarshal(data, &r))
	require.Len(t, r.Convolutions, 78)
	return r
}

func rowSizes(t *testing.T, text string) []int64 {
	t.Helper()
	var out []int64
	for _, f := range strings.Split(text, "x") {
		n, err := strconv.ParseInt(f, 10, 64)
		require.NoError(t, err)
		out = append(out, n)
	}
	return out
}

// rowConv is the convolution of a line "x w stride padding dilation groups".
func rowConv(t *testing.T, line string, d tensor.DType, f tensor.MemoryFormat) *Convolution {
	t.Helper()
	parts := strings.Fields(line)
	twice := func(s string) []int64 { n := rowSizes(t, s)[0]; return []int64{n, n} }
	return &Convolution{
		Input: dense(d, f, rowSizes(t, parts[0])...), Weight: dense(d, f, rowSizes(t, parts[1])...),
		Stride: twice(parts[2]), Padding: twice(parts[3]), Dilation: twice(parts[4]), OutputPadding: []int64{0, 0}, Groups: rowSizes(t, parts[5])[0],
	}
}

// TestRowsByRule holds what is done without a profile against every answer: which convolutions
// reach cuDNN at all, how often the rule is the answer to a percent, and how often the upper figure
// holds. The figures are as measured.
func TestRowsByRule(t *testing.T) {
	rows := readRows(t)
	releases := map[string]string{"9.10.2": "2.10", "9.26.0": "2.15"}
	devices := map[string]string{"sm80": "a100-sxm-80gb", "sm86": "rtx-3090", "sm89": "rtx-4090", "sm90": "h100-sxm-80gb"}
	dtypes := map[string]tensor.DType{"float32": tensor.Float32, "float16": tensor.Float16, "bfloat16": tensor.BFloat16}
	formats := map[string]tensor.MemoryFormat{"contiguous": tensor.Contiguous, "channels_last": tensor.ChannelsLast}
	type score struct{ calls, exact, below int }
	total := map[string]*score{}
	for name, groups := range rows.Answers {
		version, direction, _ := strings.Cut(name, " ")
		for group, answers := range groups {
			class, kind, _ := strings.Cut(group, " ")
			dtype, layout, _ := strings.Cut(kind, " ")
			kind = strings.TrimSpace(direction + " " + kind)
			p := on(t, devices[class], releases[version])
			if total[kind] == nil {
				total[kind] = &score{}
			}
			s := total[kind]
			for i, line := range rows.Convolutions {
				v := rowConv(t, line, dtypes[dtype], formats[layout])
				native := v.Backend(p, rowOut(v)) == ConvDepthwise
				if native { // in half precision the table has cuDNN's answer to workloads, too, that PyTorch does not give it
					require.True(t, answers[i] == "-" || dtype == "float16" && layout == "contiguous" && v.isDepthwise(), "%s: %s", group, line)
					continue
				}
				require.NotEqual(t, "-", answers[i], "%s: %s", group, line)
				bytes, _, _ := strings.Cut(answers[i], "/")
				want, err := strconv.ParseInt(bytes, 10, 64)
				require.NoError(t, err)
				v, out := v.towards(direction, rowOut(v))
				got := v.CuDNN(p, out, false)[0]
				s.calls++
				if d := int64(got.Bytes) - want; d*d*10000 <= want*want {
					s.exact++
				}
				if units.Bytes(want) <= got.Upper {
					s.below++
				}
			}
		}
	}
	got := map[string]string{}
	for kind, s := range total {
		got[kind] = fmt.Sprintf("%d calls: %d by rule, %d within upper", s.calls, s.exact, s.below)
	}
	assert.Equal(t, map[string]string{
		"float32 contiguous":     "552 calls: 154 by rule, 552 within upper",
		"float32 channels_last":  "624 calls: 300 by rule, 624 within upper",
		"float16 contiguous":     "616 calls: 425 by rule, 616 within upper",
		"float16 channels_last":  "624 calls: 504 by rule, 624 within upper",
		"bfloat16 contiguous":    "552 calls: 358 by rule, 552 within upper",
		"bfloat16 channels_last": "624 calls: 488 by rule, 624 within upper",

		"dgrad float32 contiguous":     "276 calls: 153 by rule, 276 within upper",
		"dgrad float32 channels_last":  "312 calls: 196 by rule, 312 within upper",
		"dgrad float16 contiguous":     "308 calls: 187 by rule, 308 within upper",
		"dgrad float16 channels_last":  "312 calls: 266 by rule, 312 within upper",
		"dgrad bfloat16 contiguous":    "276 calls: 161 by rule, 276 within upper",
		"dgrad bfloat16 channels_last": "312 calls: 266 by rule, 312 within upper",

		"wgrad float32 contiguous":     "276 calls: 112 by rule, 276 within upper",
		"wgrad float32 channels_last":  "312 calls: 135 by rule, 312 within upper",
		"wgrad float16 contiguous":     "308 calls: 195 by rule, 308 within upper",
		"wgrad float16 channels_last":  "312 calls: 227 by rule, 312 within upper",
		"wgrad bfloat16 contiguous":    "276 calls: 164 by rule, 276 within upper",
		"wgrad bfloat16 channels_last": "312 calls: 229 by rule, 312 within upper",
	}, got)
}

// towards is the call for a gradient of a convolution whose result is of these sizes, and the sizes
// of what it makes or, for a weight's, is given.
func (v *Convolution) towards(direction string, out []int64) (*Convolution, []int64) {
	g := dense(v.Input.DType, v.Format(), out...)
	u := *v
	switch direction {
	case "dgrad":
		u.Input, u.Transposed = g, true
		return &u, v.Input.Sizes
	case "wgrad":
		u.Grad = g
	}
	return &u, out
}

// rowOut is the result's sizes.
func rowOut(v *Convolution) []int64 {
	out := []int64{v.Input.Sizes[0], v.Weight.Sizes[0]}
	for i := range v.Stride {
		out = append(out, (v.Input.Sizes[i+2]+2*v.Padding[i]-v.Dilation[i]*(v.Weight.Sizes[i+2]-1)-1)/v.Stride[i]+1)
	}
	return out
}
