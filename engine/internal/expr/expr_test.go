package expr_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/expr"
)

func TestEval(t *testing.T) {
	dims := map[string]int64{"B": 8, "H": 224, "Max": 3, "M": -7, "big": math.MaxInt64, "low": math.MinInt64}
	for _, c := range []struct {
		in   string
		want int64
		why  string
	}{
		{"0", 0, ""}, {"42", 42, ""}, {" 42 ", 42, ""}, {"\t42\n+\t1", 43, ""}, {"B", 8, ""}, {"Max", 3, "only min and max are taken"},
		{"1+2*3", 7, "* binds tighter"}, {"(1+2)*3", 9, ""}, {"10-3-2", 5, "leans left"}, {"100/5/2", 10, "leans left"},
		{"2*H//3", 149, ""},
		{"-3", -3, ""}, {"--3", 3, ""}, {"-B*2", -16, ""}, {"2--3", 5, ""},
		{"7//2", 3, ""}, {"-7//2", -4, "rounds down, as Python"}, {"7//-2", -4, ""}, {"-7//-2", 3, ""}, {"-8//2", -4, ""},
		{"7%3", 1, ""}, {"-7%3", 2, "the divisor's sign, as Python"}, {"7%-3", -2, ""}, {"-7%-3", -1, ""}, {"6%-3", 0, ""},
		{"8/2", 4, ""}, {"-8/2", -4, ""}, {"M//2", -4, ""},
		{"min(3,1,2)", 1, ""}, {"max(B)", 8, ""}, {"max(1, min(B, 5)) * 2", 10, ""},
		{"1KiB", 1024, ""}, {"1B", 1, ""}, {"512B", 512, ""}, {"512*B", 4096, "a B apart is the dim"},
		{"12 MiB", 12 << 20, ""}, {"1.5GiB", 3 << 29, ""}, {"2TiB", 2 << 40, ""},
		{"0.1KiB", 102, "part of a byte is dropped"}, {"98MiB + 12MiB*B", (98 + 12*8) << 20, ""},
		{"4MiB / 1MiB", 4, "a size through a size is a number"},
		{"1GiB - 1", 1<<30 - 1, "a plain number is bytes"}, {"4MiB // 1MiB * 2MiB", 8 << 20, ""},
		{"9223372036854775807", math.MaxInt64, ""}, {"big + low", -1, ""}, {"low", math.MinInt64, ""},
	} {
		e, err := expr.Parse(c.in)
		require.NoError(t, err, c.in)
		got, err := e.Eval(dims)
		require.NoError(t, err, c.in)
		assert.Equal(t, c.want, got, "%s: %s", c.in, c.why)

		again, err := expr.Parse(e.String())
		require.NoError(t, err, c.in)
		same, err := again.Eval(dims)
		require.NoError(t, err)
		assert.Equal(t, got, same, "%s prints as %s", c.in, e)
	}
}

func TestErrors(t *testing.T) {
	dims := map[string]int64{"B": 8, "big": math.MaxInt64, "low": math.MinInt64}
	for _, c := range []struct {
		in     string
		offset int
		want   string
	}{
		{"", 0, "got the end, want a number, a dim or ("},
		{"1 +", 3, "got the end, want a number, a dim or ("},
		{"* 2", 0, `got "*", want a number, a dim or (`},
		{"1 2", 2, `got "2", want an operator or the end`},
		{"  1 ; 2", 4, `got ";", want an operator or the end`},
		{"(1", 2, "got the end, want )"},
		{"1)", 1, `got ")", want an operator or the end`},
		{"min()", 4, `got ")", want a number, a dim or (`},
		{"min 3", 4, `got "3", want (`},
		{"max(1;2)", 5, `got ";", want )`},
		{"é", 0, `got "é", want a number, a dim or (`},
		{"1.5", 0, "got 1.5, want a whole number or a unit"},
		{"1.", 0, `got "1.", want a digit after the point`},
		{"2GB", 1, `got unit "GB", want B, KiB, MiB, GiB or TiB: did you mean GiB?`},
		{"2mib", 1, `got unit "mib", want B, KiB, MiB, GiB or TiB: did you mean MiB?`},
		{"2k", 1, `got unit "k", want B, KiB, MiB, GiB or TiB: did you mean KiB?`},
		{"2x", 1, `got unit "x", want B, KiB, MiB, GiB or TiB`},
		{"1_000", 1,
			`got unit "_000", want B, KiB, MiB, GiB or TiB: a number is written in digits alone, such as 1000000000`},
		{"1e9", 1, `got unit "e9", want B, KiB, MiB, GiB or TiB: a number is written in digits alone, such as 1000000000`},
		{"1E12", 1, `got unit "E12", want B, KiB, MiB, GiB or TiB: a number is written in digits alone, such as 1000000000`},
		{"1e", 1, `got unit "e", want B, KiB, MiB, GiB or TiB`},
		{"1e9x", 1, `got unit "e9x", want B, KiB, MiB, GiB or TiB`},
		{"1f9", 1, `got unit "f9", want B, KiB, MiB, GiB or TiB`},
		{"1_0B", 1, `got unit "_0B", want B, KiB, MiB, GiB or TiB`},
		{"1b", 1, `got unit "b", want B, KiB, MiB, GiB or TiB: did you mean B?`},
		{"1tB", 1, `got unit "tB", want B, KiB, MiB, GiB or TiB: did you mean TiB?`},
		{"1Gi", 1, `got unit "Gi", want B, KiB, MiB, GiB or TiB: did you mean GiB?`},
		{"1bb", 1, `got unit "bb", want B, KiB, MiB, GiB or TiB`},
		{"1 kb", 2, `got unit "kb", want B, KiB, MiB, GiB or TiB: did you mean KiB?`},
		{"1 kx", 2, `got "kx", want an operator or the end`},
		{"12 B", 3, `got "B", want an operator or the end`},
		{"1MiB*1MiB", 4, "got a size times a size, want a size times a number"},
		{"9223372036854775808", 0, "got 9223372036854775808, want a number that fits int64"},
		{"8388608TiB", 0, "got 8388608TiB, want a number that fits int64"},
		{"big + 1", 4, "got 9223372036854775808, want a number that fits int64"},
		{"low - 1", 4, "got -9223372036854775809, want a number that fits int64"},
		{"big * big", 4, "got 85070591730234615847396907784232501249, want a number that fits int64"},
		{"-low", 0, "got 9223372036854775808, want a number that fits int64"},
		{"low // -1", 4, "got 9223372036854775808, want a number that fits int64"},
		{"7 / 2", 2, "got 7 / 2, want a whole number; // rounds down"},
		{"1 / 0", 2, "got a division by zero"},
		{"1 % (B - 8)", 2, "got a division by zero"},
		{"1 // 0", 2, "got a division by zero"},
		{"2*Bb", 2, `got dim "Bb" without a value: did you mean "B"?`},
		{"channels", 0, `got dim "channels" without a value, want one of B, big, low`},
		{strings.Repeat("(", 100) + "1", 65, "got an expression nested deeper than 64"},
		{strings.Repeat("-", 100) + "1", 65, "got an expression nested deeper than 64"},
		{strings.Repeat("1", 41), 0, "got a number of 41 digits, want one that fits int64"},
		{strings.Repeat("1+", 3000) + "1", 0, "got an expression of 6001 bytes, want at most 4096"},
	} {
		e, err := expr.Parse(c.in)
		if err == nil {
			_, err = e.Eval(dims)
		}
		require.EqualError(t, err, c.want, "%.40s", c.in)
		offset := -1
		if pe, ok := errors.AsType[*expr.Error](err); ok {
			offset = pe.Offset
		} else if ue, ok := errors.AsType[*expr.UnboundError](err); ok {
			offset = ue.Offset
		}
		assert.Equal(t, c.offset, offset, "%.40s", c.in)
	}
}

func TestNames(t *testing.T) {
	e, err := expr.Parse("max(H, B*2) + B // W")
	require.NoError(t, err)
	assert.Equal(t, []string{"H", "B", "W"}, e.Names())
	assert.False(t, e.HasUnit())
	assert.Empty(t, expr.Const(3).Names())
	_, err = e.Eval(nil)
	require.EqualError(t, err, `got dim "H" without a value`)
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1", "B*2+H//3", "min(1,max(B,H))", "98MiB + 12MiB*B", "-(-1.5GiB) % 7", "((((", "1/0",
		"B B"} {
		f.Add(s)
	}
	dims := map[string]int64{"B": 3, "H": 224}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := expr.Parse(s)
		if err != nil {
			if pe, ok := errors.AsType[*expr.Error](err); !ok || pe.Offset < 0 || pe.Offset > len(s) {
				t.Fatalf("%q: %v lies outside", s, err)
			}
			return
		}
		got, err := e.Eval(dims)
		again, err2 := expr.Parse(e.String())
		if err2 != nil {
			t.Fatalf("%q prints as %q: %v", s, e, err2)
		}
		if same, err2 := again.Eval(dims); same != got || (err == nil) != (err2 == nil) {
			t.Fatalf("%q is %d, printed %q is %d", s, got, e, same)
		}
	})
}

// A name is letters, digits and underscores, no digit first.
func TestIsName(t *testing.T) {
	for text, want := range map[string]bool{"B": true, "_b2": true, "batch_size": true, "": false, "2b": false,
		"a b": false, "a-b": false, "a.b": false, "é": false, "b ": false} {
		assert.Equal(t, want, expr.IsName(text), "%q", text)
	}
}

// An expression keeps its place in a longer text; a plain number has none.
func TestPlaces(t *testing.T) {
	e, err := expr.Parse("  B*2")
	require.NoError(t, err)
	assert.Equal(t, e.Offset()+7, e.Behind(7).Offset())
	assert.Zero(t, expr.Const(4).Behind(7).Offset())
	_, plain := e.Constant()
	assert.False(t, plain)
	n, plain := expr.Const(4).Constant()
	assert.True(t, plain)
	assert.EqualValues(t, 4, n)
	var wrong *expr.Error
	require.ErrorAs(t, e.Errorf("got %d", 3), &wrong)
	assert.Equal(t, e.String(), wrong.Text)
	assert.EqualError(t, wrong, "got 3")
}

// TestLongestText: an expression has at most 4,096 bytes.
func TestLongestText(t *testing.T) {
	_, err := expr.Parse("1" + strings.Repeat(" ", 4095))
	require.NoError(t, err)
	_, err = expr.Parse("1" + strings.Repeat(" ", 4096))
	require.ErrorContains(t, err, "4096")
}
