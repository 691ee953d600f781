package aotinductor

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWords: what a text is taken apart into, and on which line each word stands.
func TestWords(t *testing.T) {
	for _, tt := range []struct {
		text, want string
	}{
		{"a_1 = b->c::d(1.5e-3f, -2L);", "name a_1 1|sign = 1|name b 1|sign -> 1|name c 1|sign :: 1|name d 1|sign ( " +
			"1|number 1.5e-3f 1|sign , 1|sign - 1|number 2L 1|sign ) 1|sign ; 1"},
		{"0x1f+1 1E+5 .5 .a 0x1e-1", "number 0x1f 1|sign + 1|number 1 1|number 1E+5 1|number .5 1|sign . 1|name a 1|number " +
			"0x1e 1|sign - 1|number 1 1"},
		{"a<=b&&c||d!=e==f>=g<<h>>i", "name a 1|sign <= 1|name b 1|sign && 1|name c 1|sign || 1|name d 1|sign != 1|name e " +
			"1|sign == 1|name f 1|sign >= 1|name g 1|sign << 1|name h 1|sign >> 1|name i 1"},
		{"a // b\nc /* d\n e */ f", "name a 1|name c 2|name f 3"},
		{"// x Original ATen: [aten.add]\na", "note // x Original ATen: [aten.add] 1|name a 2"},
		{"R\"(a\n\"b)\" R\"xy(c)xy\" \"d\\\"e\" 'f'", "string a\n\"b 1|string c 2|string d\\\"e 2|string f 2"},
		{"a\\\nb\tc\rd", "name a 1|name b 2|name c 2|name d 2"},
		{".5", "number .5 1"},
		{"a.", "name a 1|sign . 1"},
		{"a /**/ b /*/ c */ d", "name a 1|name b 1|name d 1"},
	} {
		tokens, err := lex(tt.text, place{1, 1})
		require.NoError(t, err, tt.text)
		var got []string
		for _, tok := range tokens[:len(tokens)-1] {
			kind := [...]string{"end", "name", "number", "string", "sign", "note"}[tok.kind]
			got = append(got, fmt.Sprintf("%s %s %d", kind, tok.text, tok.where.line))
		}
		assert.Equal(t, tt.want, strings.Join(got, "|"))
		assert.Equal(t, endToken, tokens[len(tokens)-1].kind)
	}
	for text, want := range map[string]string{
		"a\n\"b": "8:1: got a text without an end", "'a\n'": "7:1: got a text without an end",
		"/* a": "7:1: got the end, want */", "R\"(a": "7:1: got a text without an end", "R\"a": "7:1: got R\", want R\"(",
		"R\"" + strings.Repeat("a", 18) + "()": "7:1: got a text without an end", "R\"" + strings.Repeat("a", 19) +
			"()": "7:1: got R\", want R\"(",
	} {
		_, err := lex(text, place{7, 1})
		assert.EqualError(t, err, want, text)
	}
}

// TestBrackets: one item between round brackets is a list with a comma behind it, and the item
// itself without.
func TestBrackets(t *testing.T) {
	for text, want := range map[string]termKind{
		"(a)": nameTerm, "(a,)": listTerm, "(a, b)": listTerm, "()": listTerm, "{a}": listTerm, "[a]": listTerm,
	} {
		tokens, err := lex(text, place{1, 1})
		require.NoError(t, err)
		e, err := (&parser{toks: tokens}).term()
		require.NoError(t, err, text)
		assert.Equal(t, want, e.kind, text)
	}
}

// TestTexts: texts side by side are one.
func TestTexts(t *testing.T) {
	for text, want := range map[string]string{`"a"`: "a", `"a" "b"`: "ab", "\"a\"\n\"b\" \"\" 'c'": "abc"} {
		tokens, err := lex(text, place{1, 1})
		require.NoError(t, err)
		e, err := (&parser{toks: tokens}).term()
		require.NoError(t, err, text)
		assert.Equal(t, []any{textTerm, want}, []any{e.kind, e.text})
	}
}

// TestTextsAreBounded: by their bytes, which are not read.
func TestTextsAreBounded(t *testing.T) {
	bytes := make([]byte, maxText+1) // never written, so that it takes no memory
	_, err := decodePackage(unsafe.String(&bytes[0], len(bytes)), "w.cpp", beside{})
	assert.EqualError(t, err, "0:0: got 268435457 bytes, want at most 268435456")
	_, err = kernelLines(fstest.MapFS{kernelsFile: {Data: bytes}}, "w.cpp")
	assert.EqualError(t, err, "kernel_information.json: got 268435457 bytes, want at most 268435456")
}

// TestSizes: sizes as Inductor writes them, over symbols and names that stand for others.
func TestSizes(t *testing.T) {
	parse := func(text string) *term {
		tokens, err := lex(text, place{1, 1})
		require.NoError(t, err)
		e, err := (&parser{toks: tokens}).term()
		require.NoError(t, err, text)
		return e
	}
	alias := map[string]*term{"u": parse("s0 + 1"), "v": parse("u * 2")}
	symbols := map[string]int64{"s0": 7, "s1": 3}
	for text, want := range map[string]int64{
		"5": 5, "-5": -5, "s0 * -5": -35, "-5 + s0": 2, "-s1 * -2": 6, "s0": 7, "-s0 + 20": 13, "s0 - s1": 4, "s0 * s1": 21, "(s0 + 2) * s1": 27, "u": 8, "v": 16,
		"s0 % s1": 1, "static_cast<int64_t>(s0)": 7,
		"c10::div_floor_integer(static_cast<int64_t>(s0), static_cast<int64_t>(2L))": 3, "c10::div_mod(s0, s1)": 1,
		"std::max(s0, s1)": 7, "std::min({s0, s1, 2L})": 2, "std::max(1L, s1)": 3, "std::min(s0, v)": 7,
	} {
		size, err := parse(text).size(alias)
		require.NoError(t, err, text)
		got, err := size.Eval(symbols)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"1.5", "f(s0)", "\"a\"", "s0 < s1", "c10::div_floor_integer(s0)",
		"c10::div_mod(s0, s1, 2)", "std::max()", "a[0]"} {
		_, err := parse(text).size(alias)
		assert.ErrorContains(t, err, "want whole numbers", text)
	}
	for text, want := range map[string]string{
		strings.Repeat("-", 99) + "s0":           "",
		strings.Repeat("-", 100) + "s0":          "1:101: got terms nested deeper than 100",
		strings.Repeat("(", 99) + "s0":           "got the end",
		strings.Repeat("(", 100) + "s0":          "1:101: got terms nested deeper than 100",
		"f(" + strings.Repeat("[", 99) + "s0":    "1:102: got terms nested deeper than 100",
		"s0" + strings.Repeat(" + -s0", 200):     "",
		strings.Repeat("f(s0) + ", 200) + "s0":   "",
		strings.Repeat("(s0) + ", 200) + "s0[0]": "",
	} {
		tokens, err := lex(text, place{1, 1})
		require.NoError(t, err)
		_, err = (&parser{toks: tokens}).term()
		if want == "" {
			assert.NoError(t, err, text)
			continue
		}
		assert.ErrorContains(t, err, want, text)
	}
	deep := map[string]*term{"a": parse("a + 1")}
	_, err := parse("a").size(deep)
	assert.ErrorContains(t, err, "got a size nested deeper than 100")
}

// TestKeys: an overload by the name that Python has for it.
func TestKeys(t *testing.T) {
	for op, want := range map[string]string{
		"torch.ops.aten.convolution.default": "aten::convolution", "torch.ops.aten.add.Tensor": "aten::add.Tensor",
		"aten.mm": "aten::mm", "mylib.f.default": "mylib::f", "default.default.x": "default::default.x",
	} {
		got, err := key(op)
		require.NoError(t, err, op)
		assert.Equal(t, want, got)
	}
	for _, op := range []string{"", "mm", "torch.ops.aten.a.b.c", "torch.ops.a"} {
		_, err := key(op)
		assert.ErrorContains(t, err, "want torch.ops.NAMESPACE.NAME.OVERLOAD", op)
	}
}
