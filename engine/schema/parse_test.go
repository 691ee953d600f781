package schema

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestParseEverySchema parses every schema that PyTorch 2.15 registers.
func TestParseEverySchema(t *testing.T) {
	f, err := os.Open("../../testdata/aten/2.15/schemas.txt")
	require.NoError(t, err)
	defer f.Close()
	n := 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		s, err := Parse(sc.Text())
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		require.Equal(t, KeyOf(sc.Text()), s.Key())
		n++
	}
	require.Greater(t, n, 4000)
}

func TestAliases(t *testing.T) {
	tests := []struct {
		text  string
		arg   Alias
		ret   string
		write bool
		why   string
	}{
		{"aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", Alias{Set: "a"}, "a", false, "a view"},
		{"aten::relu_(Tensor(a!) self) -> Tensor(a!)", Alias{Set: "a", Write: true}, "a", true, "in place"},
		{"aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]", Alias{Set: "a"}, "a", false, "a list of views"},
		{"aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)", Alias{Set: "a", Write: true}, "a", true, "a list written"},
	}
	for _, tt := range tests {
		s, err := Parse(tt.text)
		require.NoError(t, err, tt.why)
		require.Equal(t, tt.arg, *s.Args[0].Type.Alias, tt.why)
		r := s.Returns[0].Type
		if r.Kind == List && r.Alias == nil {
			r = r.Elems[0]
		}
		require.Equal(t, tt.ret, r.Alias.Set, tt.why)
		require.Equal(t, tt.write, r.Alias.Write, tt.why)
	}
}

func TestDefaults(t *testing.T) {
	s, err := Parse(`aten::f(int[2] a=[1, 2], float b=1e-05, bool c=True, str d="mean", Tensor? e=None, *, int? f=contiguous_format) -> (Tensor values, Tensor)`)
	require.NoError(t, err)
	require.Equal(t, []any{int64(1), int64(2)}, s.Args[0].Default)
	require.Equal(t, 2, s.Args[0].Type.Size)
	require.Equal(t, 1e-05, s.Args[1].Default)
	require.Equal(t, true, s.Args[2].Default)
	require.Equal(t, "mean", s.Args[3].Default)
	require.True(t, s.Args[4].HasDefault)
	require.Nil(t, s.Args[4].Default)
	require.True(t, s.Args[5].KwOnly)
	require.Equal(t, int64(0), s.Args[5].Default)
	require.Equal(t, "values", s.Returns[0].Name)
}

func TestErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "schema:1:1: got end, want an operator's name"},
		{"aten::f", "schema:1:8: got end, want '('"},
		{"aten::f(Tensor self) -> ", "schema:1:25: got end, want a type"},
		{"aten::f(Tensor) -> Tensor", "schema:1:15: got ')', want an argument's name"},
		{"aten::f(Tensor self) Tensor", "schema:1:22: got 'T', want \"->\""},
		{"aten::f(int a=?) -> int", "schema:1:15: got '?', want a default value"},
		{"aten::f(int a) -> int x y", "schema:1:25: got 'y', want end"},
	}
	for _, tt := range tests {
		_, err := Parse(tt.text)
		require.ErrorContains(t, err, tt.want)
	}
}

// FuzzParse holds that no text makes the parser panic, hang or report a place outside the text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
		"aten::split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
		"prim::Print(...) -> ()",
		"aten::dict.str((str, tVal)[] inputs) -> Dict(str, tVal)",
		"aten::f(" + strings.Repeat("(", 40),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			e, ok := err.(*Error)
			if !ok || e.Col < 1 || e.Col > max(len(text), maxSchema)+1 {
				t.Fatalf("got error %v, want a place in the text", err)
			}
			return
		}
		if s.Key() == "" {
			t.Fatal("got a schema without a name")
		}
	})
}
