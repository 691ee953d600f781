package jsonscan

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// value reads any value as encoding/json would.
func value(s *Scanner) any {
	switch c := s.next(); c {
	case '{':
		out := map[string]any{}
		s.Object(func(key string) { out[key] = value(s) })
		return out
	case '[':
		out := []any{}
		s.Array(func() { out = append(out, value(s)) })
		return out
	case '"':
		return s.String()
	case 't', 'f':
		return s.Bool()
	case 'n':
		s.Null()
		return nil
	default:
		return s.Float()
	}
}

func read(text string) (any, error) {
	s := New([]byte(text))
	v := value(s)
	s.End()
	return v, s.Err()
}

func TestValuesAreEncodingJSONs(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `null`, `true`, `false`, `""`, `0`, `-0`, `1.5e-3`, `-12`, `1E+2`,
		` { "a" : [ 1 , 2 , { "b" : null } ] , "c" : "d" } `,
		`"a\"b\\c\/\b\f\n\r\t\u00e9\ud83d\ude00"`, `"plain é"`, `[[[[]]]]`, `{"a":1,"a":2}`,
	} {
		var want any
		require.NoError(t, json.Unmarshal([]byte(text), &want), text)
		got, err := read(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
}

// TestValueKeepsWholeNumbers: sizes in a config may be larger than a float64 holds exactly.
func TestValueKeepsWholeNumbers(t *testing.T) {
	s := New([]byte(`{"a": [9007199254740993, -0.5, 1e3, 99999999999999999999, null, true, "x", Infinity]}`))
	v := s.Value()
	s.End()
	require.NoError(t, s.Err())
	want := []any{int64(9007199254740993), -0.5, 1000.0, 1e20, nil, true, "x", math.Inf(1)}
	assert.Equal(t, map[string]any{"a": want}, v)
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                        "offset 0: got the end, want a number",
		`{`:                       "offset 1: got the end, want a string",
		`{"a"`:                    "offset 4: got the end, want a colon",
		`{"a":1`:                  "offset 6: got the end, want a comma or '}'",
		`{"a":1,}`:                "offset 7: got '}', want a string",
		`[1,]`:                    "offset 3: got ']', want a number",
		`[1 2]`:                   "offset 3: got a number, want a comma or ']'",
		`"a`:                      "offset 2: got the end, want the end of a string",
		`"\x"`:                    "offset 0: got a string with an escape that is none",
		`nul`:                     "offset 0: got a word that is neither true, false nor null",
		`01`:                      "offset 1: got a number, want the end",
		`1.`:                      "offset 0: got a number, want a number",
		`-`:                       "offset 0: got a number, want a number",
		`1e999`:                   "offset 0: got 1e999, want a number that fits float64",
		"0\x00":                   `offset 1: got '\x00', want the end`,
		`1 x`:                     "offset 2: got 'x', want the end",
		strings.Repeat("[", 2000): "offset 1001: got values nested more than 1000 deep",
	} {
		_, err := read(text)
		assert.EqualError(t, err, want, text)
	}
}

func TestTypedValues(t *testing.T) {
	s := New([]byte(`[9223372036854775807, 1.5, Infinity, -Infinity, "-Infinity", "a\nb", null, {"x": [1, "y"]}]`))
	var whole int64
	var floats []float64
	var raw string
	place := 0
	s.Array(func() {
		switch place {
		case 0:
			whole = s.Int()
		case 1, 2, 3, 4:
			floats = append(floats, s.Float())
		case 5:
			raw = string(s.Raw())
		case 6:
			assert.True(t, s.Null())
		default:
			assert.True(t, s.IsObject())
			s.Skip()
		}
		place++
	})
	s.End()
	require.NoError(t, s.Err())
	assert.Equal(t, int64(math.MaxInt64), whole)
	assert.Equal(t, []float64{1.5, math.Inf(1), math.Inf(-1), math.Inf(-1)}, floats)
	assert.Equal(t, `a\nb`, raw)

	for text, want := range map[string]string{
		`1.5`:                 "offset 0: got 1.5, want a whole number that fits int64",
		`9223372036854775808`: "offset 0: got 9223372036854775808, want a whole number that fits int64",
		`"1"`:                 "offset 0: got a string, want a number",
		`true`:                "offset 0: got a bool, want a number",
		`{}`:                  "offset 0: got an object, want a number",
		`[]`:                  "offset 0: got an array, want a number",
		`null`:                "offset 0: got null, want a number",
	} {
		s := New([]byte(text))
		s.Int()
		assert.EqualError(t, s.Err(), want, text)
	}
	for text, want := range map[string]float64{`"inf"`: math.Inf(1), `"Infinity"`: math.Inf(1), `"-inf"`: math.Inf(-1),
		`-Infinity`: math.Inf(-1), `-1`: -1, `-`: 0} {
		assert.Equal(t, want, New([]byte(text)).Float(), text)
	}
	for _, text := range []string{`"nan"`, `"NaN"`, `NaN`} {
		assert.True(t, math.IsNaN(New([]byte(text)).Float()), text)
	}
	s = New([]byte(`[{"a": [true, false, null, "x", -1.5]}]`))
	s.Skip()
	s.End()
	require.NoError(t, s.Err())
	s = New([]byte(`"nine"`))
	s.Float()
	assert.EqualError(t, s.Err(), `offset 0: got the string "nine", want a number`)
	s = New([]byte(`1`))
	s.Bool()
	assert.EqualError(t, s.Err(), "offset 0: got a number, want a bool")
	s.Fail("a second error")
	assert.EqualError(t, s.Err(), "offset 0: got a number, want a bool", "the first one stays")
	assert.Equal(t, 1, s.Offset())
}

// FuzzScan: what encoding/json reads is read alike, and what it refuses is refused, but for what
// Python writes.
func FuzzScan(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5,"x\n",null,true]}`, `[Infinity]`, `"\ud800"`, `-`, `{"a":{"b":{}}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want any
		theirs := json.Unmarshal(data, &want)
		got, ours := read(string(data))
		switch {
		case theirs == nil && ours != nil:
			t.Fatalf("got %v, want what encoding/json reads", ours)
		case theirs != nil && ours == nil && plain(data):
			t.Fatalf("got %v, want an error: %v", got, theirs)
		case theirs == nil && utf8.Valid(data) && !reflect.DeepEqual(got, want):
			t.Fatalf("got %#v, want %#v", got, want)
		}
	})
}

// plain says whether a document holds nothing that is let pass.
func plain(data []byte) bool {
	return !bytes.ContainsAny(data, "IN") && !bytes.ContainsFunc(data, unicode.IsControl)
}

func BenchmarkScan(b *testing.B) {
	text := []byte(`{"nodes": [` +
		strings.Repeat(
			`{"target": "torch.ops.aten.linear.default", "inputs": [{"name": "input", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}], "metadata": {"stack_trace": "File \"a.py\", line 9, in forward\n    h=torch.relu(s.fc(x))"}},`, 10000) + `{}]}`)
	b.Run("scan", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			s := New(text)
			s.Skip()
			require.NoError(b, s.Err())
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			var v any
			require.NoError(b, json.Unmarshal(text, &v))
		}
	})
}

// TestDepth: what counts is how deep values lie in each other, not how many there are.
func TestDepth(t *testing.T) {
	for _, tt := range []struct{ why, text, err string }{
		{"a thousand arrays in each other", strings.Repeat("[", 1000) + strings.Repeat("]", 1000), ""},
		{"and one", strings.Repeat("[", 1001) + strings.Repeat("]", 1001), "offset 1001: got values nested more than 1000 " +
			"deep"},
		{"a thousand objects in each other", strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000), ""},
		{"and one", strings.Repeat(`{"a":`, 1001) + "1" + strings.Repeat("}", 1001), "offset 5001: got values nested more " +
			"than 1000 deep"},
		{"many beside each other", "[" + strings.Repeat("[],[1],{},{\"a\":2},", 1000) + "0]", ""},
	} {
		_, err := read(tt.text)
		if tt.err == "" {
			require.NoError(t, err, tt.why)
		} else {
			require.EqualError(t, err, tt.err, tt.why)
		}
	}
}

// TestBackslashes: a string ends at the first quote behind an even number of backslashes.
func TestBackslashes(t *testing.T) {
	for n := range 9 {
		slashes := strings.Repeat("\\", n)
		s := New([]byte(`"a` + slashes + `"b" c`))
		raw := string(s.Raw())
		require.NoError(t, s.Err(), n)
		want := "a" + slashes
		if n%2 == 1 {
			want += `"b`
		}
		assert.Equal(t, want, raw)
		assert.Equal(t, len(want)+2, s.Offset(), n)
	}
	s := New([]byte(`["\\", "b"]`))
	var all []string
	s.Array(func() { all = append(all, s.String()) })
	assert.Equal(t, []string{`\`, "b"}, all, "what stands before a string is none of it")
}

// TestMembersAfterAnError: what is behind a member that is none is not read.
func TestMembersAfterAnError(t *testing.T) {
	for text, want := range map[string]string{
		`{"a" 1}`: "offset 5: got a number, want a colon", `{"a": x, "b": 1}`: "offset 6: got 'x', want a number",
		`{3: 1}`: "offset 1: got a number, want a string",
	} {
		s := New([]byte(text))
		calls := 0
		s.Object(func(string) { calls++; s.Int() })
		assert.EqualError(t, s.Err(), want)
		assert.Equal(t, strings.Count(text, "x"), calls, text)
	}
	s := New([]byte(`[x, 1]`))
	calls := 0
	s.Array(func() { calls++; s.Int() })
	assert.Equal(t, 1, calls)
}

// TestBlanks may stand before any value.
func TestBlanks(t *testing.T) {
	const blanks = " \n\t\r"
	assert.Equal(t, int64(7), New([]byte(blanks+"7")).Int())
	assert.Equal(t, 0.5, New([]byte(blanks+"0.5")).Float())
	assert.Equal(t, "a", New([]byte(blanks+`"a"`)).String())
	assert.True(t, New([]byte(blanks+"true")).Bool())
	assert.True(t, New([]byte(blanks+"null")).Null())
	assert.True(t, New([]byte(blanks+"{}")).IsObject())
}
