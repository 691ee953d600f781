package spec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
)

func TestParseInput(t *testing.T) {
	dims := map[string]int64{"B": 2, "T": 16}
	for _, c := range []struct{ in, want, why string }{
		{"x=float32[B,3,224,224]", "x=float32[2,3,224,224]", ""},
		{"float32[B,3,224,224]", "float32[2,3,224,224]", "without a name: by position"},
		{" x = float32 [ B , T // 3 ] ", "x=float32[2,5]", "spaces do not matter"},
		{"self.mask=bool[1]", "self.mask=bool[1]", ""},
		{"torch.half[1]", "float16[1]", "either of PyTorch's spellings"},
		{"int64[]", "int64[]", "a scalar"},
		{"float32[0, 4]", "float32[0,4]", "no elements"},
		{"float32[1,2,]", "float32[1,2]", ""},
		{"float32[B,3,8,8] channels_last", "float32[2,3,8,8] channels_last", ""},
		{"float32[B,3,8,8] contiguous cpu", "float32[2,3,8,8] cpu", "contiguous is the default"},
		{"float32[max(B, (T-8)*2), 1]", "float32[16,1]", "commas in parentheses"},
		{"[float32[3,640,640], float32[3,480,640]]", "[float32[3,640,640], float32[3,480,640]]", ""},
		{"[]", "[]", ""}, {"()", "()", ""}, {"{}", "{}", ""},
		{"(float32[1],)", "(float32[1],)", "a tuple of one"}, {"(float32[1])", "float32[1]", "parentheses alone"},
		{"(1, (2, [3, {a: 4}]))", "(1, (2, [3, {a: 4}]))", ""},
		{"{ids: int64[B], 'a b': 1, \"c\": null,}", "{ids: int64[2], 'a b': 1, c: null}", ""},
		{"n=3", "n=3", ""}, {"-3", "-3", ""}, {"1.5", "1.5", ""}, {"1e3", "1000.0", "a float stays one"},
		{"-1e-5", "-1e-05", ""}, {"1E-5", "1e-05", "either letter"}, {"2E+1", "20.0", ""}, {"+2", "2", ""},
		{"true", "true", ""}, {"False", "false", ""}, {"None", "null", ""}, {"null", "null", ""},
		{`'it\'s\n\\'`, `'it\'s\n\\'`, ""}, {`"a=b"`, `'a=b'`, "an = in a text is no name"},
		{`'\t\r\q"'`, `'\t\rq"'`, "a character that needs no escape is itself"},
		{"mode='bilinear'", "mode='bilinear'", ""},
	} {
		in, err := spec.ParseInput(c.in)
		require.NoError(t, err, c.in)
		bound, err := in.Bind(dims)
		require.NoError(t, err, c.in)
		assert.Equal(t, c.want, bound.String(), "%s: %s", c.in, c.why)

		again, err := spec.ParseInput(bound.String())
		require.NoError(t, err, "printed: %s", bound)
		assert.Equal(t, bound, again, "it reads back as itself")
		unbound, err := spec.ParseInput(in.String())
		require.NoError(t, err, "printed: %s", in)
		rebound, err := unbound.Bind(dims)
		require.NoError(t, err)
		assert.Equal(t, bound, rebound)
	}
}

func TestParseInputErrors(t *testing.T) {
	for _, c := range []struct {
		in     string
		offset int
		want   string
	}{
		{"", 0, "got the end, want a value such as float32[8,3,224,224]"},
		{"  hello", 2, `got "hello", want a value such as float32[8,3,224,224]; a text stands in quotes`},
		{"[1,  hello]", 5, `got "hello", want a value such as float32[8,3,224,224]; a text stands in quotes`},
		{"float32[1,  ?]", 12, "got \"?\", want a number, a dim or ("},
		{"float32[1,  2MiB]", 12, "got 2MiB, want a number of elements"},
		{"x=", 2, "got the end, want a value such as float32[8,3,224,224]"},
		{"x=float23[1]", 2, `got dtype "float23", want one of PyTorch's: did you mean "float32"?`},
		{"x=quux[1]", 2, `got dtype "quux", want one of PyTorch's, such as float32, float16, bfloat16, int64, bool`},
		{"x=float32", 2, `got "float32", want a value such as float32[8,3,224,224]: a scalar tensor is float32[]`},
		{"x=hello", 2, `got "hello", want a value such as float32[8,3,224,224]; a text stands in quotes`},
		{"x=float32[1", 11, "got the end, want , or ]"},
		{"x=float32[1 2]", 12, `got "2", want an operator or the end`},
		{"x=float32[,1]", 10, "got the end, want a number, a dim or ("},
		{"x=float32[2MiB]", 10, "got 2MiB, want a number of elements"},
		{"x=float32[1] y", 13, `got "y", want contiguous, channels_last, channels_last_3d or cpu`},
		{"x=float32[1,2] channels_last", 15, "got channels_last with 2 sizes, want 4"},
		{"[1 2]", 3, `got "2", want , or ]`},
		{"[1", 2, "got the end, want , or ]"},
		{"(1, 2", 5, "got the end, want , or )"},
		{"[,]", 1, `got ",", want a value such as float32[8,3,224,224]`},
		{"{a 1}", 3, `got "1", want : after the key a`},
		{"{a: 1 b: 2}", 6, `got "b", want , or }`},
		{"{1: 2}", 1, `got "1", want a key or }`},
		{"{a: 1, 'a': 2}", 7, `got key "a" twice`},
		{"'open", 0, "got a text that does not end, want '"},
		{"1 2", 2, `got "2", want the end`},
		{"99999999999999999999", 0, `got "99999999999999999999", want a value such as float32[8,3,224,224]`},
		{"1e999", 0, `got "1e999", want a value such as float32[8,3,224,224]`},
		{"x y=3", 0, `got "x", want a value such as float32[8,3,224,224]; a text stands in quotes`},
		{"x:float32[1]", 0,
			`got "x", want a value such as float32[8,3,224,224]: a name stands before =, as in x=float32[1,3,224,224]`},
		{"9x:float32[1]", 0, `got "9x", want a value such as float32[8,3,224,224]`},
		{"1, 3,224", 1, `got ",", want the end: a tensor is dtype[sizes], such as float32[1,3,224]`},
		{"é", 0, `got "é", want a value such as float32[8,3,224,224]`},
		{strings.Repeat("[", 40), 33, "got values nested deeper than 32"},
		{strings.Repeat(" ", 70000), 0, "got an input of 70000 bytes, want at most 65536"},
	} {
		_, err := spec.ParseInput(c.in)
		require.EqualError(t, err, c.want, "%.40s", c.in)
		ie, ok := errors.AsType[*spec.InputError](err)
		require.True(t, ok)
		assert.Equal(t, c.offset, ie.Offset, "%.40s", c.in)
	}
}

func TestBindErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"[{k: (float32[N],)}]", `got dim "N" without a value, want one of B`},
		{"float32[B-3]", "got size -1, want 0 or more"},
		{"float32[B-3,B-4,C]", "got size -1, want 0 or more"},
		{"float32[C,B-4]", `got dim "C" without a value, want one of B`},
		{"float32[4611686018427387904, B]", "got float32[4611686018427387904,2], want a tensor whose bytes fit int64"},
		{"float64[2305843009213693952]", "got float64[2305843009213693952], want a tensor whose bytes fit int64"},
	} {
		in, err := spec.ParseInput(c.in)
		require.NoError(t, err)
		_, err = in.Bind(map[string]int64{"B": 2})
		require.EqualError(t, err, c.want)
	}
}

func TestTensorLayout(t *testing.T) {
	in, err := spec.ParseInput("float32[B,3,4,5] channels_last")
	require.NoError(t, err)
	bound, err := in.Bind(map[string]int64{"B": 2})
	require.NoError(t, err)
	x, ok := bound.Value.(spec.Tensor)
	require.True(t, ok)
	assert.Equal(t, tensor.Float32, x.DType)
	assert.Equal(t, tensor.ChannelsLast, x.Format)
	sizes, err := x.Sizes()
	require.NoError(t, err)
	assert.Equal(t, []int64{2, 3, 4, 5}, sizes)
	strides, err := x.Strides()
	require.NoError(t, err)
	assert.Equal(t, []int64{60, 1, 15, 3}, strides)
	unbound, ok := in.Value.(spec.Tensor)
	require.True(t, ok)
	_, err = unbound.Sizes()
	require.Error(t, err, "an unbound tensor has no sizes")
}

func FuzzParseInput(f *testing.F) {
	for _, s := range []string{"x=float32[B,3,224,224]", "[1,(2,),{a:'b'}]", "int64[] cpu",
		"float32[1,2,3,4] channels_last", `"\"`, "1e3", "((((", "{a: {b: [null]}}"} {
		f.Add(s)
	}
	dims := map[string]int64{"B": 3}
	f.Fuzz(func(t *testing.T, s string) {
		in, err := spec.ParseInput(s)
		if err != nil {
			if ie, ok := errors.AsType[*spec.InputError](err); !ok || ie.Offset < 0 || ie.Offset > len(s) {
				t.Fatalf("%q: %v lies outside", s, err)
			}
			return
		}
		text := in.String()
		again, err := spec.ParseInput(text)
		if err != nil {
			t.Fatalf("%q prints as %q: %v", s, text, err)
		}
		if again.String() != text {
			t.Fatalf("%q prints as %q, then as %q", s, text, again)
		}
		if _, err := in.Bind(dims); err == nil {
			if _, err := again.Bind(dims); err != nil {
				t.Fatalf("%q binds, printed %q does not: %v", s, text, err)
			}
		}
	})
}
