package ops_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// promoted is torch.promote_types of torch 2.15: a row's dtype with each of the first row's.
const promoted = `
          uint8      int8       int16      int32      int64      float16    bfloat16   float32    float64    complex32  complex64  complex128 bool
uint8     uint8      int16      int16      int32      int64      float16    bfloat16   float32    float64    complex32  complex64  complex128 uint8
int8      int16      int8       int16      int32      int64      float16    bfloat16   float32    float64    complex32  complex64  complex128 int8
int16     int16      int16      int16      int32      int64      float16    bfloat16   float32    float64    complex32  complex64  complex128 int16
int32     int32      int32      int32      int32      int64      float16    bfloat16   float32    float64    complex32  complex64  complex128 int32
int64     int64      int64      int64      int64      int64      float16    bfloat16   float32    float64    complex32  complex64  complex128 int64
float16   float16    float16    float16    float16    float16    float16    float32    float32    float64    complex32  complex64  complex128 float16
bfloat16  bfloat16   bfloat16   bfloat16   bfloat16   bfloat16   float32    bfloat16   float32    float64    complex64  complex64  complex128 bfloat16
float32   float32    float32    float32    float32    float32    float32    float32    float32    float64    complex64  complex64  complex128 float32
float64   float64    float64    float64    float64    float64    float64    float64    float64    float64    complex128 complex128 complex128 float64
complex32 complex32  complex32  complex32  complex32  complex32  complex32  complex64  complex64  complex128 complex32  complex64  complex128 complex32
complex64 complex64  complex64  complex64  complex64  complex64  complex64  complex64  complex64  complex128 complex64  complex64  complex128 complex64
complex128 complex128 complex128 complex128 complex128 complex128 complex128 complex128 complex128 complex128 complex128 complex128 complex128 complex128
bool      uint8      int8       int16      int32      int64      float16    bfloat16   float32    float64    complex32  complex64  complex128 bool
uint16    !          !          !          !          !          float16    bfloat16   float32    float64    !          !          !          !
uint32    !          !          !          !          !          float16    bfloat16   float32    float64    !          !          !          !
uint64    !          !          !          !          !          float16    bfloat16   float32    float64    !          !          !          !
`

// TestPromoteTypes: every pair of dtypes as PyTorch has it; those that it refuses (!) no operator
// asks for.
func TestPromoteTypes(t *testing.T) {
	dtype := func(name string) tensor.DType {
		d, err := tensor.ParseDType(name)
		require.NoError(t, err, name)
		return d
	}
	lines := strings.Split(strings.TrimSpace(promoted), "\n")
	columns := strings.Fields(lines[0])
	for _, line := range lines[1:] {
		row := strings.Fields(line)
		for i, want := range row[1:] {
			if want == "!" {
				continue
			}
			a, b := dtype(row[0]), dtype(columns[i])
			assert.Equal(t, want, ops.PromoteTypes(a, b).String(), "%s with %s", a, b)
			assert.Equal(t, want, ops.PromoteTypes(b, a).String(), "%s with %s", b, a)
		}
		d := dtype(row[0])
		assert.Equal(t, d, ops.PromoteTypes(d, tensor.Undefined), "nothing decides nothing")
		assert.Equal(t, d, ops.PromoteTypes(tensor.Undefined, d))
		assert.Equal(t, d, ops.PromoteTypes(d, d))
	}
}

// TestResultTypeOfWrappedNumbers: a number given for a tensor decides only where its category is
// higher.
func TestResultTypeOfWrappedNumbers(t *testing.T) {
	zero := func(d tensor.DType) *tensor.Tensor {
		return &tensor.Tensor{Meta: ops.NewMeta(d, "cuda", nil)}
	}
	for _, tt := range []struct {
		with   tensor.DType
		number any
		want   tensor.DType
	}{
		{tensor.Int32, int64(2), tensor.Int32},
		{tensor.Int32, true, tensor.Int32},
		{tensor.Int32, 0.5, tensor.Float32},
		{tensor.Float16, 0.5, tensor.Float16},
		{tensor.Bool, int64(2), tensor.Int64},
		{tensor.Float32, complex(0, 1), tensor.Complex64},
		{tensor.Float64, complex(0, 1), tensor.Complex128},
		{tensor.Int32, ops.NewUnbacked("", schema.Float), tensor.Float32},
		{tensor.Int32, ops.NewUnbacked("", schema.Int), tensor.Int32},
		{tensor.Bool, ops.NewUnbacked("", schema.Bool), tensor.Bool},
	} {
		got := ops.ResultType(zero(tt.with), ops.WrappedNumber(tt.number))
		assert.Equal(t, tt.want, got, "a %s without dimensions and %v", tt.with, tt.number)
	}
	assert.Nil(t, ops.WrappedNumber("2"), "text is no number")
	assert.Nil(t, ops.WrappedNumber(ops.NewUnbacked("", schema.Any)), "nothing is known of it")
}

// TestCanCast: torch.can_cast of torch 2.15, a category after the other.
func TestCanCast(t *testing.T) {
	of := map[string][]tensor.DType{
		"bool": {tensor.Bool}, "int": {tensor.Uint8, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint16,
			tensor.Uint32, tensor.Uint64},
		"float":   {tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64},
		"complex": {tensor.ComplexHalf, tensor.Complex64, tensor.Complex128},
	}
	for from, to := range map[string]string{"bool": "bool int float complex", "int": "int float complex",
		"float": "float complex", "complex": "complex"} {
		for category, ds := range of {
			for _, b := range ds {
				for _, a := range of[from] {
					assert.Equal(t, strings.Contains(to, category), ops.CanCast(a, b), "%s to %s", a, b)
				}
			}
		}
	}
}

// TestTypeName: values by TorchScript's words, in errors.
func TestTypeName(t *testing.T) {
	for want, v := range map[string]any{
		"None": nil, "bool": true, "int": int64(1), "float": 1.5, "complex": 1i, "str": "a", "Tensor": &tensor.Tensor{},
		"Device": ops.Device("cpu"), "[]": &ops.List{}, "int[]": ops.IntList(1, 2),
		"(int, (str))": &ops.Tuple{Items: []any{int64(1), &ops.Tuple{Items: []any{"a"}}}}, "()": &ops.Tuple{},
		"Dict": &ops.Dict{}, "unknown": ops.Unbacked{}, "int32": int32(1),
	} {
		assert.Equal(t, want, ops.TypeName(v))
	}
}

// TestTables: each thing that a table of rules refuses, and what a table that is right says of
// itself.
func TestTables(t *testing.T) {
	out := func(*ops.Call) ([]tensor.Meta, error) { return nil, nil }
	host := func(*ops.Call) (any, error) { return nil, nil }
	for _, tt := range []struct {
		rules []ops.Rule
		want  string
	}{
		{[]ops.Rule{{Schema: "a::f(Tensor x) -> Tensor"}}, "ops: a::f: got 0 of Out, Body and Host, want one"},
		{[]ops.Rule{{Schema: "a::f(Tensor x) -> Tensor", Out: out, Host: host}}, "ops: a::f: got 2 of Out, Body and Host, " +
			"want one"},
		{[]ops.Rule{{Schema: "a::f(Tensor x) -> Tensor", Out: out}, {Schema: "a::f(Tensor y) -> Tensor", Out: out}},
			"ops: got two rules for a::f, want one"},
	} {
		_, err := ops.NewTable(tt.rules)
		assert.ErrorContains(t, err, tt.want)
	}
	table, err := ops.NewTable([]ops.Rule{{Schema: "a::f.x(Tensor x) -> Tensor", Out: out},
		{Schema: "a::g(int n) -> int", Host: host}}, []ops.Rule{{Schema: "a::f.y(int y) -> int", Host: host}})
	require.NoError(t, err)
	require.NoError(t, table.Check())
	assert.True(t, table.Has("a::g"))
	assert.False(t, table.Has("a::h"))
	assert.Equal(t, []string{"a::f.x", "a::f.y"}, table.Overloads("a::f"))
	assert.Empty(t, table.Overloads("a::h"))
	bad, err := ops.NewTable([]ops.Rule{{Schema: "a::f(Tensor x -> Tensor", Out: out}})
	require.NoError(t, err)
	assert.Error(t, bad.Check())
}

// TestRowOfSeveral: a row with For is a row for each overload that For lists.
func TestRowOfSeveral(t *testing.T) {
	host := func(*ops.Call) (any, error) { return nil, nil }
	rules := []ops.Rule{
		{Schema: "a::$1.of_$2($2[] x) -> $2", For: "f:int f:str g:int", Host: host},
		{Schema: "a::$1(int n) -> int", For: "f g_", Host: host},
	}
	assert.Equal(t, []string{"a::f.of_int", "a::f.of_str", "a::g.of_int"}, rules[0].Keys())
	table, err := ops.NewTable(rules)
	require.NoError(t, err)
	require.NoError(t, table.Check())
	assert.Equal(t, []string{"a::f.of_int", "a::f.of_str", "a::f"}, table.Overloads("a::f"))
	assert.Equal(t, []string{"a::f", "a::f.of_int", "a::f.of_str", "a::g.of_int", "a::g_"}, table.Keys())
	b, ok := table.Lookup("a::f.of_str")
	require.True(t, ok)
	assert.Equal(t, "a::f.of_str(str[] x) -> str", b.Rule.Schema)
	assert.Empty(t, b.Rule.For, "the bound rule is of this overload alone")
	_, ok = table.Lookup("a::g.of_str")
	assert.False(t, ok)
	_, _, err = table.Resolve("a::f", []any{"x"}, nil)
	assert.EqualError(t, err, "a::f: got arguments (str), want those of a::f.of_int(int[] x) -> int or "+
		"a::f.of_str(str[] x) -> str or a::f(int n) -> int")

	_, err = ops.NewTable([]ops.Rule{{Schema: "a::$1(int n) -> int", For: "f g f", Host: host}})
	assert.ErrorContains(t, err, "ops: got two rules for a::f, want one")
}

// TestLacksOfSeveral: what a row's overloads lack goes by each one's own name.
func TestLacksOfSeveral(t *testing.T) {
	host := func(*ops.Call) (any, error) { return nil, nil }
	groups := ops.WithLacks(map[string]func(*ops.Call) string{"a::g": ops.Always("sorts")}, []ops.Rule{
		{Schema: "a::$1(int n) -> int", For: "f g", Host: host}, {Schema: "a::h(int n) -> int", Host: host},
	})
	table, err := ops.NewTable(groups...)
	require.NoError(t, err)
	for key, want := range map[string]string{"a::f": "", "a::g": "sorts"} {
		b, _ := table.Lookup(key)
		assert.Equal(t, want, b.Rule.Lacks(&ops.Call{Bound: b}), key)
	}
	h, _ := table.Lookup("a::h")
	assert.Nil(t, h.Rule.Lacks)
}
