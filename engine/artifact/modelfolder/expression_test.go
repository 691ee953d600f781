package modelfolder

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// named are the fields of a test, and the item of a list that the config leaves out.
type named map[string]any

func (n named) field(name string) (any, error) {
	if name == "broken" {
		return nil, errBroken
	}
	return n[name], nil
}

func (n named) item(name string, i int64) (any, bool, error) {
	return 10 * i, name == "tens", nil
}

var errBroken = errors.New("broken")

// TestExpressions: the operators of Python that rules use, by Python's results.
func TestExpressions(t *testing.T) {
	fields := named{
		"n": int64(7), "f": 2.5, "yes": true, "no": false, "word": "ab", "empty": "", "list": []any{int64(4), "x"},
		"none": []any{}, "map": object{"a": int64(1)}, "nothing": object{}, "a.b": int64(3), "big": int64(math.MaxInt64),
	}
	for _, c := range []struct {
		text string
		want any
	}{
		{"3", int64(3)}, {"2.5", 2.5}, {"'a'", "a"}, {"None", nil}, {"True", true}, {"False", false}, {"i", int64(5)},
		{"n", int64(7)}, {"absent", nil}, {"a.b", int64(3)}, {"(n)", int64(7)}, {"[n, 'a']", []any{int64(7), "a"}},
		{"list[0]", int64(4)}, {"list[1]", "x"}, {"list[(0)]", int64(4)}, {"list[int(1.9)]", "x"}, {"tens[4]", int64(40)},
		{"1 if yes else 2", int64(1)}, {"1 if no else 2", int64(2)}, {"1 if yes else broken", int64(1)},
		{"-n", int64(-7)}, {"-f", -2.5}, {"not n", false}, {"not absent", true},
		{"no and broken", false}, {"yes and n", int64(7)}, {"n or broken", int64(7)}, {"no or f", 2.5},
		{"absent is None", true}, {"n is None", false}, {"None is n", false}, {"absent is not None", false},
		{"n is not None", true},
		{"n == 7", true}, {"n == 7.0", true}, {"n != 7", false}, {"word == 'ab'", true}, {"word == 'a'", false},
		{"yes == 1", true},
		{"no == 0", true}, {"absent == None", true}, {"absent == 0", false}, {"word == n", false},
		{"4 in list", true}, {"5 in list", false}, {"5 not in list", true}, {"4 not in list", false}, {"'x' in list", true},
		{"n < 7", false}, {"n < 8", true}, {"n <= 7", true}, {"n <= 6", false}, {"n > 7", false}, {"n > 6", true},
		{"n >= 7", true}, {"n >= 8", false},
		{"n / 2", 3.5}, {"n + 1", int64(8)}, {"n - 9", int64(-2)}, {"n * 3", int64(21)}, {"n * -3", int64(-21)},
		{"n // 2", int64(3)}, {"-n // 2", int64(-4)}, {"n // -2", int64(-4)}, {"-n // -2", int64(3)}, {"-6 // 2", int64(-3)},
		{"n % 4", int64(3)}, {"-n % 4", int64(1)}, {"n % -4", int64(-1)}, {"8 % 4", int64(0)},
		{"2 ** 10", int64(1024)}, {"2 ** 0", int64(1)}, {"2 ** 62", int64(1 << 62)}, {"f ** 2", 6.25},
		{"f + 1", 3.5}, {"f - 1", 1.5}, {"f * 2", 5.0}, {"yes + 1", 2.0},
		{"int(2.9)", int64(2)}, {"int(-2.9)", int64(-2)}, {"int(n)", int64(7)}, {"int(yes)", int64(1)},
		{"[int(f)]", []any{int64(2)}}, {"len(list)", int64(2)}, {"len([1])", int64(1)},
		{"1 if empty else 2", int64(2)}, {"1 if none else 2", int64(2)}, {"1 if list else 2", int64(1)},
		{"1 if map else 2", int64(1)},
		{"1 if nothing else 2", int64(2)}, {"1 if f else 2", int64(1)}, {"1 if 0 else 2", int64(2)},
		{"1 if word else 2", int64(1)},
		{"big - 0", int64(math.MaxInt64)}, {"0 - big", int64(-math.MaxInt64)},
	} {
		e, err := compile(c.text)
		require.NoError(t, err, c.text)
		got, err := e.value(fields, 5)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, got, c.text)
	}
}

// TestExpressionsWithoutAValue: what Python would raise is an error, and so no figure.
func TestExpressionsWithoutAValue(t *testing.T) {
	fields := named{"n": int64(7), "f": 2.5, "word": "ab", "list": []any{int64(4)}, "big": int64(math.MaxInt64),
		"nan": math.NaN(), "huge": 1e300}
	for _, c := range []struct {
		text string
		want error // nil: any
	}{
		{"absent + 1", errNoValue}, {"1 + word", errNoValue}, {"word < 1", errNoValue}, {"-word", errNoValue},
		{"+absent", errNoValue},
		{"1 / 0", errNoValue}, {"n // 0", errNoValue}, {"n % 0", errNoValue}, {"f // 2", errNoValue}, {"f % 2", errNoValue},
		{"2 ** -1", errNoValue}, {"2 ** 63", errNoValue}, {"10 ** 30", errTooLarge},
		{"big + 1", errTooLarge}, {"0 - big - 2", errTooLarge}, {"big * 2", errTooLarge},
		{"1 in word", errNoValue}, {"1 in absent", errNoValue}, {"len(n)", errNoValue}, {"int(word)", errNoValue},
		{"int(nan)", errNoValue}, {"int(huge)", errNoValue},
		{"list[1]", nil}, {"list[-1]", errNoValue}, {"list[f]", errNoValue}, {"n[0]", errNoValue}, {"absent[0]", errNoValue},
		{"broken", errBroken}, {"broken + 1", errBroken}, {"1 + broken", errBroken}, {"-broken", errBroken},
		{"[broken]", errBroken},
		{"list[broken]", errBroken}, {"broken[0]", errBroken}, {"1 if broken else 2", errBroken}, {"int(broken)", errBroken},
		{"len(broken)", errBroken},
	} {
		e, err := compile(c.text)
		require.NoError(t, err, c.text)
		got, err := e.value(fields, 5)
		if c.want == nil {
			require.EqualError(t, err, "list: got 1 items, want one for layer 1")
			continue
		}
		assert.ErrorIs(t, err, c.want, "%s: got %v", c.text, got)
	}
	for text, want := range map[string]string{
		"max(1, 2)":        `"max(1, 2)": got a call of another function, want int or len`,
		"[f(1)]":           `"[f(1)]": got a call of another function, want int or len`,
		"1 if f(1) else 2": `"1 if f(1) else 2": got a call of another function, want int or len`,
		"list[f(1)]":       `"list[f(1)]": got a call of another function, want int or len`,
		"-f(1)":            `"-f(1)": got a call of another function, want int or len`,
		"1 + f(1)":         `"1 + f(1)": got a call of another function, want int or len`,
		"(f(1))":           `"(f(1))": got a call of another function, want int or len`,
		"1 +":              `"1 +": :1:4: got newline, want expression`,
		"int(1 +)":         `"1 +": :1:4: got newline, want expression`,
	} {
		_, err := compile(text)
		assert.EqualError(t, err, want, text)
	}
}

// TestExpressionsOfAnotherKind: what Python has and rules have not.
func TestExpressionsOfAnotherKind(t *testing.T) {
	for text, want := range map[string]string{
		"{1: 2}":            "got an expression of a kind that rules have not: *python.Dict",
		"[1].a":             "got an attribute of *python.List, want one of a config",
		"[1].a.b":           "got an attribute of *python.List, want one of a config",
		"[1][0]":            "got an attribute of *python.List, want one of a config",
		"3 << 2":            "got the operator <<, which rules have not",
		"a.b[0].c":          "got an attribute of *python.Subscript, want one of a config",
		"1 if 2 | 1 else 3": "got the operator |, which rules have not",
	} {
		e, err := compile(text)
		require.NoError(t, err, text)
		_, err = e.value(named{}, 0)
		assert.EqualError(t, err, want, text)
	}
}

// TestWholeSizes: a size is a whole number of 0 or more, and the error names what it is.
func TestWholeSizes(t *testing.T) {
	for text, want := range map[string]string{
		"7": "", "0": "", "-1": "-1: got a whole number, no value", "2.5": "2.5: got a number with a fraction, no value",
		"None": "None: got null, no value", "'a'": "'a': got a string, no value", "[1]": "[1]: got a list, no value",
		"True": "True: got a bool, no value",
		"map":  "map: got an object, no value",
	} {
		e, err := compile(text)
		require.NoError(t, err, text)
		_, err = e.whole(named{"map": object{}}, 0)
		if want == "" {
			assert.NoError(t, err, text)
		} else {
			assert.EqualError(t, err, want, text)
		}
	}
}
