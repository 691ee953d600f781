package workspace

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/tensor"
)

// formulaErrors counts the answers of one kind of call by how the formula compares with them.
type formulaErrors struct {
	answers, exact, over, under int
	mostOver, mostUnder         int64
}

// TestErrorsOfTheFormula: testdata/errors.md has the formula's errors over cuDNN's answers in rows.json, those
// under an answer apart. An answer counts as met within one percent.
func TestErrorsOfTheFormula(t *testing.T) {
	rows := readRows(t)
	releases := map[string]string{"9.10.2": "2.10", "9.26.0": "2.15"}
	devices := map[string]string{"sm80": "a100-sxm-80gb", "sm86": "rtx-3090", "sm89": "rtx-4090", "sm90": "h100-sxm-80gb"}
	dtypes := map[string]tensor.DType{"float32": tensor.Float32, "float16": tensor.Float16, "bfloat16": tensor.BFloat16}
	formats := map[string]tensor.MemoryFormat{"contiguous": tensor.Contiguous, "channels_last": tensor.ChannelsLast}
	total := map[string]*formulaErrors{}
	for name, groups := range rows.Answers {
		version, direction, _ := strings.Cut(name, " ")
		for group, answers := range groups {
			f := strings.Fields(group) // class, dtype, layout
			p := on(t, devices[f[0]], releases[version])
			key := strings.Join([]string{cmp.Or(direction, "forward"), f[0], f[1], f[2]}, " | ")
			s := total[key]
			if s == nil {
				s = &formulaErrors{}
				total[key] = s
			}
			for i, line := range rows.Convolutions {
				v := rowConv(t, line, dtypes[f[1]], formats[f[2]])
				if v.Backend(p, rowOut(v)) == ConvDepthwise {
					continue
				}
				bytes, _, _ := strings.Cut(answers[i], "/")
				want, err := strconv.ParseInt(bytes, 10, 64)
				require.NoError(t, err)
				v, out := v.towards(direction, rowOut(v))
				s.add(int64(v.CuDNN(p, out, false)[0].Bytes), want)
			}
		}
	}
	var b strings.Builder
	b.WriteString("| direction | device class | dtype | layout | answers | exact | over | under | most over, bytes | most under, bytes |\n")
	b.WriteString("|---|---|---|---|---:|---:|---:|---:|---:|---:|\n")
	for _, key := range slices.Sorted(maps.Keys(total)) {
		s := total[key]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d |\n", key, s.answers, s.exact, s.over, s.under, s.mostOver, s.mostUnder)
	}
	golden.File(t, filepath.Join("testdata", "errors.md"), b.String())
}

func (s *formulaErrors) add(got, want int64) {
	s.answers++
	switch d := got - want; {
	case d*d*10000 <= want*want:
		s.exact++
	case d > 0:
		s.over++
		s.mostOver = max(s.mostOver, d)
	default:
		s.under++
		s.mostUnder = max(s.mostUnder, -d)
	}
}
