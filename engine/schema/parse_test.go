package schema

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
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

// dump is everything that a schema says.
func dump(s *Schema) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", s.Key())
	part := func(kind string, args []Arg, more bool) {
		for _, a := range args {
			fmt.Fprintf(&b, "\n  %s %q %s", kind, a.Name, typeText(a.Type))
			if a.HasDefault {
				fmt.Fprintf(&b, " = %#v", a.Default)
			}
			if a.KwOnly {
				b.WriteString(" keyword")
			}
		}
		if more {
			fmt.Fprintf(&b, "\n  %s ...", kind)
		}
	}
	part("takes", s.Args, s.VarArgs)
	part("gives", s.Returns, s.VarRets)
	return b.String() + "\n"
}

// typeText is a type with its aliases, in another form than PyTorch's.
func typeText(t *Type) string {
	text := t.String()
	if len(t.Elems) > 0 {
		parts := make([]string, len(t.Elems))
		for i, e := range t.Elems {
			parts[i] = typeText(e)
		}
		text = fmt.Sprintf("%s<%s>", [...]string{List: "list", Optional: "optional", Tuple: "tuple", Dict: "dict",
			Future: "future"}[t.Kind], strings.Join(parts, ", "))
	}
	if t.Kind == Var || t.Kind == Class {
		text = map[Kind]string{Var: "var ", Class: "class "}[t.Kind] + text
	}
	if t.Size > 0 {
		text += fmt.Sprintf(" of %d", t.Size)
	}
	if a := t.Alias; a != nil {
		text += fmt.Sprintf(" alias %q", a.Set)
		if a.Write {
			text += " written"
		}
	}
	return text
}

func TestForms(t *testing.T) {
	golden.Run(t, "testdata/forms.txtar", func(a *golden.Archive) {
		var good, bad strings.Builder
		for line := range strings.Lines(string(a.Input("good"))) {
			s, err := Parse(strings.TrimRight(line, "\n"))
			require.NoError(a.T(), err)
			good.WriteString(dump(s))
			fmt.Fprint(&good, "  is ")
			for _, arg := range s.Args {
				fmt.Fprintf(&good, "%s; ", arg.Type)
			}
			fmt.Fprintln(&good)
		}
		for line := range strings.Lines(string(a.Input("bad"))) {
			_, err := Parse(strings.TrimRight(line, "\n"))
			require.Error(a.T(), err, line)
			fmt.Fprintln(&bad, err)
		}
		a.Want("good", []byte(good.String()))
		a.Want("bad", []byte(bad.String()))
	})
}

func TestBounds(t *testing.T) {
	text := func(n int) string {
		head, tail := `aten::f(str a="`, `") -> ()`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	_, err := Parse(text(1 << 14))
	require.NoError(t, err)
	_, err = Parse(text(1<<14 + 1))
	require.EqualError(t, err,
		`schema:1:16384: got a longer text, want at most 16384 bytes in "aten::f(str a=\"xxxxxxxxxxxxxxxxxxxxxxxxx…"`)
	nested := func(n int) string {
		return "aten::f(" + strings.Repeat("(", n) + "int" + strings.Repeat(")", n) + " a) -> ()"
	}
	_, err = Parse(nested(31))
	require.NoError(t, err)
	_, err = Parse(nested(32))
	require.ErrorContains(t, err, "schema:1:41: got 'i', want at most 32 nested types in ")
	values := func(n int) string {
		return "aten::f(int a=" + strings.Repeat("[", n) + strings.Repeat("]", n) + ") -> ()"
	}
	_, err = Parse(values(32))
	require.NoError(t, err)
	_, err = Parse(values(33))
	require.ErrorContains(t, err, "schema:1:47: got '[', want at most 32 nested values in ")
	_, err = Parse("aten::f(" + strings.Repeat("(int, int)[] a, int b=[[1]], ", 40) + "int c) -> ()")
	require.NoError(t, err, "what lies side by side is not nested")
}

func TestNames(t *testing.T) {
	s, err := Parse("aten::add.Tensor(Tensor self, Tensor other) -> Tensor")
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, -1}, []int{s.ArgIndex("self"), s.ArgIndex("other"), s.ArgIndex("out")})
	for _, c := range [][3]string{{"aten::add.Tensor(Tensor self)", "aten::add.Tensor", "aten::add"},
		{"aten::mm(", "aten::mm", "aten::mm"}, {"aten::mm", "aten::mm", "aten::mm"},
		{"(x)", "", ""}, {".a(x)", ".a", ""}} {
		require.Equal(t, c[1], KeyOf(c[0]))
		require.Equal(t, c[2], NameOf(c[0]))
	}
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
		{"aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]", Alias{Set: "a"}, "a", false,
			"a list of views"},
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
	s,
		err := Parse(
		`aten::f(int[2] a=[1, 2], float b=1e-05, bool c=True, str d="mean", Tensor? e=None, *, int? f=contiguous_format) -> (Tensor values, Tensor)`)
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
