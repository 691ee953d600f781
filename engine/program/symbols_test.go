package program

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/expr"
	"github.com/memspec/memspec/engine/tensor"
)

func sizes(t *testing.T, texts ...string) []Size {
	out := make([]Size, len(texts))
	for i, s := range texts {
		var err error
		out[i], err = expr.Parse(s)
		require.NoError(t, err)
	}
	return out
}

func TestBindSymbols(t *testing.T) {
	symbols := []Symbol{{Name: "B", Min: 1, Max: 64}, {Name: "T", Min: 2, Max: math.MaxInt64},
		{Name: "u0", Max: 100, Unbacked: true}}
	for _, c := range []struct {
		why    string
		params [][]string
		given  [][]int64
		want   map[string]int64
		err    string
	}{
		{"a symbol is known by its size", [][]string{{"B", "3", "T"}}, [][]int64{{8, 3, 77}},
			map[string]int64{"B": 8, "T": 77}, ""},
		{"a parameter that is no tensor says nothing", [][]string{nil, {"B", "T"}}, [][]int64{nil, {8, 77}},
			map[string]int64{"B": 8, "T": 77}, ""},
		{"torch.export writes derived sizes as a*s + b", [][]string{{"B", "8*T + 1"}}, [][]int64{{8, 17}},
			map[string]int64{"B": 8, "T": 2}, ""},
		{"a size of two symbols is held against them once they are known", [][]string{{"B*T"}, {"B", "T"}},
			[][]int64{{6}, {2, 3}}, map[string]int64{"B": 2, "T": 3}, ""},
		{"and gives the second when the first is known", [][]string{{"B + T"}, {"B"}}, [][]int64{{9}, {2}},
			map[string]int64{"B": 2, "T": 7}, ""},
		{"a size that is fixed", [][]string{{"B", "3", "T"}}, [][]int64{{8, 4, 77}}, nil,
			"input p0, dimension 1: got 4, want 3"},
		{"one symbol, two sizes", [][]string{{"B", "T"}, {"B"}}, [][]int64{{8, 2}, {9}}, nil,
			"input p1, dimension 0: got 9, want 8, which is B"},
		{"outside the range", [][]string{{"B", "T"}}, [][]int64{{65, 2}}, nil, "input p0, dimension 0: got 65, want 1 to " +
			"64: the range of B that the program was exported for"},
		{"outside a range without an end", [][]string{{"B", "T"}}, [][]int64{{64, 1}}, nil,
			"input p0, dimension 1: got 1, want at least 2: the range of T that the program was exported for"},
		{"no whole number", [][]string{{"B", "8*T"}}, [][]int64{{8, 17}}, nil, "input p0, dimension 1: got 17, want a size " +
			"that is 8*T\ngot no input that gives the size T, want at least 2"},
		{"dimensions", [][]string{{"B", "T"}}, [][]int64{{8}}, nil,
			"input p0: got 1 dimensions, want 2\ngot no input that gives the size B, want 1 to 64\ngot no input that gives " +
				"the size T, want at least 2"},
		{"all contradictions at once", [][]string{{"B", "3", "T"}}, [][]int64{{0, 4, 1}}, nil,
			"input p0, dimension 1: got 4, want 3\ninput p0, dimension 0: got 0, want 1 to 64: the range of B that the " +
				"program was exported for\n" +
				"input p0, dimension 2: got 1, want at least 2: the range of T that the program was exported for"},
		{"symbols that are nowhere alone", [][]string{{"B*T"}}, [][]int64{{6}}, nil, "got no input that gives the size B, " +
			"want 1 to 64\ngot no input that gives the size T, want at least 2"},
		{"what is more than any size", [][]string{{"B", "T", "B*T"}}, [][]int64{{2, 1 << 62, 1}}, nil,
			"input p0, dimension 2: got 9223372036854775808, want a number that fits int64"},
		{"no number of what is divided by nothing", [][]string{{"B // T"}, {"B"}}, [][]int64{{3}, {6}}, nil,
			"input p0, dimension 0: got 3, want a size that is B // T\ngot no input that gives the size T, want at least 2"},
		{"what no multiple reaches", [][]string{{"B", "T*T"}}, [][]int64{{8, 9}}, nil,
			"input p0, dimension 1: got 9, want a size that is T*T\ngot no input that gives the size T, want at least 2"},
	} {
		entry := &Func{}
		for i, texts := range c.params {
			p := Param{Name: "p" + string(rune('0'+i))}
			if texts != nil {
				p.Meta = &TensorMeta{DType: tensor.Float32, Sizes: sizes(t, texts...)}
			}
			entry.Params = append(entry.Params, p)
		}
		got, err := (&Program{Entry: entry, Symbols: symbols}).BindSymbols(c.given)
		if c.err != "" {
			assert.EqualError(t, err, c.err, c.why)
			continue
		}
		require.NoError(t, err, c.why)
		assert.Equal(t, c.want, got, c.why)
	}
}

// A size of several symbols gives one as soon as the others are known, in whatever order the sizes
// stand.
func TestBindSymbolsOneAfterTheOther(t *testing.T) {
	symbols := []Symbol{{Name: "A", Max: 99}, {Name: "B", Max: 99}, {Name: "C", Max: 99}}
	want := map[string]int64{"A": 2, "B": 3, "C": 5}
	for _, given := range []struct {
		sizes []string
		of    []int64
	}{
		{[]string{"A + B", "B + C", "C"}, []int64{5, 8, 5}},
		{[]string{"C", "B + C", "A + B"}, []int64{5, 8, 5}},
		{[]string{"A + B", "C", "B + C"}, []int64{5, 5, 8}},
	} {
		entry :=
			&Func{Params: []Param{{Name: "p", Meta: &TensorMeta{DType: tensor.Float32, Sizes: sizes(t, given.sizes...)}}}}
		got, err := (&Program{Entry: entry, Symbols: symbols}).BindSymbols([][]int64{given.of})
		require.NoError(t, err)
		assert.Equal(t, want, got, given.sizes)
	}
}

func TestTensorMetaBind(t *testing.T) {
	m := &TensorMeta{DType: tensor.Float16, Sizes: sizes(t, "B", "2*T"), Strides: sizes(t, "2*T", "1"),
		Offset: expr.Const(4), Device: "cuda"}
	got, err := m.Bind(map[string]int64{"B": 3, "T": 5})
	require.NoError(t, err)
	assert.Equal(t, tensor.Meta{DType: tensor.Float16, Sizes: []int64{3, 10}, Strides: []int64{10, 1}, StorageOffset: 4,
		Device: "cuda"}, got)
	_, err = m.Bind(map[string]int64{"B": 3})
	assert.EqualError(t, err, `size 1: got dim "T" without a value, want one of B`)
	_, err = m.Bind(map[string]int64{"B": -3, "T": 5})
	assert.EqualError(t, err, "got a negative size")
}

func TestBindSymbolsListsFewErrors(t *testing.T) {
	p := &Program{Entry: &Func{}}
	for i := range 1000 {
		p.Symbols = append(p.Symbols, Symbol{Name: fmt.Sprint("s", i), Max: 9})
	}
	_, err := p.BindSymbols(nil)
	require.Error(t, err)
	assert.Len(t, strings.Split(err.Error(), "\n"), maxErrors)
}
