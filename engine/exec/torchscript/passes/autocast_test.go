package passes

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInsertCasts(t *testing.T) {
	rewrites(t, "testdata/autocast.txt", func(g *Graph) { ready(g); g.insertCasts("float16") })
}

// Without autocast a graph stays as it is, and with bfloat16 that is what is cast to.
func TestCastsByDType(t *testing.T) {
	const text = "x: Tensor, w: Tensor\na = aten::mm(x, w)\nprim::Return(a)\n"
	for to, want := range map[string]string{"": "", "bfloat16": "_autocast_to_reduced_precision(x, True, False, 15, 15)"} {
		g := read(t, text)
		before := g.String()
		g.insertCasts(to)
		if to == "" {
			require.Equal(t, before, g.String())
		} else {
			require.Contains(t, g.String(), want)
		}
	}
}

// TestAutocastLists compares the lists with what PyTorch's own pass does to each operator
// (python -m truth schemas).
func TestAutocastLists(t *testing.T) {
	data, err := os.ReadFile("../../../../testdata/aten/2.15/autocast_script.txt")
	require.NoError(t, err)
	cases := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		op, cast, ok := strings.Cut(line, " ")
		require.True(t, ok, line)
		cases[cast] = append(cases[cast], op)
	}
	require.Equal(t, cases["reduced"], slices.Sorted(maps.Keys(lowered)))
	require.Equal(t, cases["full"], slices.Sorted(maps.Keys(raised)))
	require.Equal(t, []string{"aten::binary_cross_entropy"}, cases["refused"])
}
