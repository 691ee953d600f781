package torchexport

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseSize(t *testing.T) {
	const s, r = "Symbol('s77', positive=True, integer=True)", "Symbol('s27', integer=True)"
	values := map[string]int64{"s77": 6, "s27": 4}
	for _, c := range []struct {
		text, want string
		value      int64
	}{
		{s, "s77", 6},
		{"Integer(3)", "3", 3},
		{"2*s77 + 1", "2*s77 + 1", 13}, // torch 2.4
		{"(s77*s27)//8", "(s77*s27)//8", 3},
		{"Mul(Integer(2), " + s + ")", "2*s77", 12},
		{"Add(Mul(Integer(2), " + s + "), Integer(1))", "2*s77 + 1", 13},
		{"Add(Mul(Integer(-1), " + s + "), Integer(10))", "-s77 + 10", 4},
		{"Add(" + s + ", Mul(Integer(-2), " + r + "))", "s77 - 2*s27", -2},
		{"Add(" + s + ", Integer(-1))", "s77 - 1", 5},
		{"Add(Mul(Rational(1, 2), " + s + "), Rational(-4, 2))", "s77/2 + (-4)/2", 1},
		{"Add(Integer(1), IntTrueDiv(" + s + ", Integer(3)))", "1 + s77/3", 3},
		{"Mul(Integer(8), Add(" + s + ", Integer(1)))", "8*(s77 + 1)", 56},
		{"Mul(" + s + ", Pow(" + r + ", Integer(2)))", "s77*s27*s27", 96},
		{"Mul(Rational(1, 2), " + s + ")", "s77/2", 3},
		{"Mul(Integer(2), Mul(Integer(-1), " + s + "))", "2*(-s77)", -12},
		{"FloorDiv(Mul(Integer(-1), " + s + "), Integer(4))", "(-s77)//4", -2},
		{"Mul(Rational(-1, 2), Integer(-2), " + s + ")", "(-1)*(-2)*s77/2", 6},
		{"Mul(Rational(3, 2), " + s + ", " + r + ")", "3*s77*s27/2", 36},
		{"Mul(" + s + ", " + r + ", Pow(Integer(8), Integer(-1)))", "s77*s27/8", 3},
		{"Pow(" + r + ", Integer(-1))", "1/s27", 0},
		{"FloorDiv(Add(" + s + ", Integer(1)), Integer(2))", "(s77 + 1)//2", 3},
		{"CleanDiv(" + s + ", Integer(2))", "s77//2", 3},
		{"Mod(" + s + ", " + r + ")", "s77%s27", 2},
		{"PythonMod(Mul(Integer(2), " + s + "), Integer(5))", "2*s77%5", 2},
		{"ModularIndexing(" + s + ", Integer(2), Integer(5))", "s77//2%5", 3},
		{"Max(Integer(1), " + s + ")", "max(1, s77)", 6},
		{"Min(Integer(9), Add(" + s + ", Integer(4)), " + r + ")", "min(9, s77 + 4, s27)", 4},
		{"TruncToInt(IntTrueDiv(" + s + ", Integer(4)))", "s77//4", 1},
		{"CeilToInt(IntTrueDiv(" + s + ", Integer(4)))", "-(-(s77)//4)", 2},
		{"TruncToInt(Mul(Float('2.0', precision=53), ToFloat(" + s + ")))", "2*s77", 12},
		{"TruncToInt(Mul(Float('12.0', precision=53), ToFloat(" + s + ")))", "12*s77", 72},
		{"FloorToInt(Mul(" + s + ", Pow(Integer(4), Integer(-1))))", "s77//4", 1},
		{"FloorToInt(" + s + ")", "s77", 6},
		{"RoundToInt(ToFloat(" + s + "))", "s77", 6},
		{"CeilToInt(ToFloat(" + s + "))", "s77", 6},
		{"Identity(Add(" + s + ", Integer(1)))", "s77 + 1", 7},
		{"FloatTrueDiv(" + s + ", Add(" + r + ", Integer(-1)))", "s77/(s27 - 1)", 2},
		{"Mul(" + s + ", Pow(" + r + ", Integer(-1)), Pow(Integer(1), Integer(-1)))", "s77/(s27*1)", 0},
		{"Mul(Pow(Integer(2), Integer(-1)), Pow(Integer(3), Integer(-1)), " + s + ")", "s77/(2*3)", 1},
		{"Mul(Pow(Integer(2), Integer(-1)), Pow(Integer(3), Integer(-1)))", "1/(2*3)", 0},
		{"Mul(Integer(24), Pow(" + r + ", Integer(-2)))", "24/(s27*s27)", 0},
		{"Mul(Integer(32), Pow(" + r + ", Integer(-2)))", "32/(s27*s27)", 2},
		{"Mul(Integer(-2), " + s + ")", "-2*s77", -12},
		{"Mul(Integer(-1), Integer(-1))", "-(-1)", 1},
		{"Mul(" + s + ", Integer(-1))", "s77*(-1)", -6},
		{"Pow(" + s + ", Integer(1))", "s77", 6},
		{"Pow(Integer(2), Integer(8))", "2*2*2*2*2*2*2*2", 256},
		{"Mul(Integer(256), Pow(Integer(2), Integer(-8)))", "256/(2*2*2*2*2*2*2*2)", 1},
		{"Integer(9223372036854775807)", "9223372036854775807", 1<<63 - 1},
	} {
		got, err := parseSize(c.text)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, got.String(), c.text)
		n, err := got.Eval(values)
		if c.value == 0 {
			assert.Error(t, err, "%s does not come out even", c.want)
			continue
		}
		require.NoError(t, err, c.text)
		assert.Equal(t, c.value, n, c.text)
	}
	for _, c := range []struct{ text, want string }{
		{"Symbol(s0)", `size "Symbol(s0)": got 's' at 7, want a symbol's name`},
		{"Symbol('0')", `size "Symbol('0')": got '\'' at 9, want a symbol's name`},
		{"Symbol('s0', positive)", `size "Symbol('s0', positive)": got ')' at 21, want an assumption`},
		{"Symbol('s0'", `size "Symbol('s0'": got the end at 11, want a parenthesis`},
		{"Integer(x)", `size "Integer(x)": got ')' at 9, want a whole number`},
		{"Integer(99999999999999999999)", `size "Integer(99999999999999999999)": got ')' at 28, want a whole number`},
		{"Add(Integer(1) Integer(2))", `size "Add(Integer(1) Integer(2))": got ' ' at 14, want a comma`},
		{"Add(Integer(1),", `size "Add(Integer(1),": got ',' at 14, want a comma`},
		{"Integer(1))", `size "Integer(1))": got ')' at 10, want the end`},
		{"Add(Float('0.5', precision=53), Integer(1))",
			`size "Add(Float('0.5', precision=53), Integer(1))": got '\'' at 14, want a whole number`},
		{"Log(Integer(1))", `size "Log(Integer(1))": got Log of 1 arguments, want a function of sizes that is known`},
		{"Pow(Integer(2), Symbol('s0'))", `size "Pow(Integer(2), Symbol('s0'))": got the power s0, want one of 1 to 8`},
		{"Pow(Symbol('s0'), Integer(99))", `size "Pow(Symbol('s0'), Integer(99))": got the power 99, want one of 1 to 8`},
		{"Pow(Symbol('s0'), Integer(9))", `size "Pow(Symbol('s0'), Integer(9))": got the power 9, want one of 1 to 8`},
		{"Pow(Symbol('s0'), Integer(-9))", `size "Pow(Symbol('s0'), Integer(-9))": got the power -9, want one of 1 to 8`},
		{"Pow(Symbol('s0'), Integer(0))", `size "Pow(Symbol('s0'), Integer(0))": got the power 0, want one of 1 to 8`},
		{"Pow(Rational(1, 2), Integer(2))", `size "Pow(Rational(1, 2), Integer(2))": got the power of a quotient`},
		{"Add(Integer(1), RoundToInt(Rational(1, 2)))",
			`size "Add(Integer(1), RoundToInt(Rational(1, 2)))": got RoundToInt of 1 arguments, want a function of sizes that is known`},
		{"TruncToInt(Integer(1), Integer(2))",
			`size "TruncToInt(Integer(1), Integer(2))": got TruncToInt of 2 arguments, want a function of sizes that is known`},
		{"CeilToInt(Integer(1), Integer(2))",
			`size "CeilToInt(Integer(1), Integer(2))": got CeilToInt of 2 arguments, want a function of sizes that is known`},
		{"Add(Integer(1), ToFloat())",
			`size "Add(Integer(1), ToFloat())": got ToFloat of 0 arguments, want a function of sizes that is known`},
		{"Max(Integer(1))", `size "Max(Integer(1))": got Max of 1 arguments, want a function of sizes that is known`},
		{"Add(Integer(1), Add())",
			`size "Add(Integer(1), Add())": got Add of 0 arguments, want a function of sizes that is known`},
		{"Add(Integer(1), Mul())",
			`size "Add(Integer(1), Mul())": got Mul of 0 arguments, want a function of sizes that is known`},
		{"Mod(Integer(1))", `size "Mod(Integer(1))": got Mod of 1 arguments, want a function of sizes that is known`},
		{"FloorDiv(Integer(1))",
			`size "FloorDiv(Integer(1))": got FloorDiv of 1 arguments, want a function of sizes that is known`},
		{"IntTrueDiv(Integer(1))",
			`size "IntTrueDiv(Integer(1))": got IntTrueDiv of 1 arguments, want a function of sizes that is known`},
		{"Rational(Integer(1))",
			`size "Rational(Integer(1))": got Rational of 1 arguments, want a function of sizes that is known`},
		{"Pow(Integer(1))", `size "Pow(Integer(1))": got Pow of 1 arguments, want a function of sizes that is known`},
		{"ModularIndexing(Integer(1), Integer(2))",
			`size "ModularIndexing(Integer(1), Integer(2))": got ModularIndexing of 2 arguments, want a function of sizes that is known`},
		{"(Integer(1))", `size "(Integer(1))": got '(' at 0, want a term`},
		{"Add(Integer(1), Float(2.0))", `size "Add(Integer(1), Float(2.0))": got '2' at 22, want a number`},
		{"Add(Integer(1), Float('2.0))", `size "Add(Integer(1), Float('2.0))": got ')' at 26, want a quote`},
		{"Add(Integer(1), Float('x', precision=53))",
			`size "Add(Integer(1), Float('x', precision=53))": got '\'' at 24, want a whole number`},
		{"Add(Symbol('s0', positive=), Integer(1))",
			`size "Add(Symbol('s0', positive=), Integer(1))": got ')' at 26, want an assumption`},
		{"Integer(9223372036854775808)", `size "Integer(9223372036854775808)": got ')' at 27, want a whole number`},
		{"s0**2", `got "*", want a number, a dim or (`},
	} {
		_, err := parseSize(c.text)
		assert.EqualError(t, err, c.want, c.text)
	}
	_, err := parseSize(strings.Repeat("Add(Integer(1), ", 200) + "Integer(1)" + strings.Repeat(")", 200))
	assert.ErrorContains(t, err, "more than 100 terms in one another")
	long := strings.Repeat("x", 121)
	assert.Equal(t, long[:120], short(long[:120]))
	assert.Equal(t, long[:120]+"…", short(long))
	_, err = parseSize("Symbol(" + long)
	assert.EqualError(t, err, `size "Symbol(`+long[:113]+`…": got 'x' at 7, want a symbol's name`)
}

func FuzzParseSize(f *testing.F) {
	f.Add("Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))")
	f.Add("FloorDiv(Max(Integer(1), Symbol('s0')), Rational(1, 2))")
	f.Add("2*s0 + 1")
	f.Fuzz(func(t *testing.T, text string) {
		if size, err := parseSize(text); err == nil {
			_, _ = size.Eval(map[string]int64{"s0": 3, "s77": 5})
		}
	})
}
