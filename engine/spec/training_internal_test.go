package spec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// TestArguments: what an argument of an optimizer may be: numbers stay finite, and what only looks
// like one is a word.
func TestArguments(t *testing.T) {
	const finite = "want a finite decimal number"
	for _, tt := range []struct {
		text string
		got  any
		want string // of an error
	}{
		{"3", 3.0, ""}, {"-0.5", -0.5, ""}, {"1e-3", 1e-3, ""}, {"1.0e-3", 1e-3, ""}, {`"1e-3"`, "1e-3", ""},
		{"'3'", "3", ""},
		{".inf", nil, finite}, {"-.inf", nil, finite}, {".nan", nil, finite}, {"!!float inf", nil, finite},
		{"!!float -inf", nil, finite}, {"!!float nan", nil, finite}, {"!!float 1e999", nil, finite}, {"0x10", nil, finite},
		{"0o17", nil, finite}, {"1.0e+999", "1.0e+999", ""},
		{"inf", "inf", ""}, {"-inf", "-inf", ""}, {"infinity", "infinity", ""}, {"nan", "nan", ""}, {"1e999", "1e999", ""},
		{"-1e999", "-1e999", ""},
		{"0x1p-2", "0x1p-2", ""},
		{"true", true, ""}, {"false", false, ""}, {"null", nil, ""}, {"~", nil, ""}, {"mean", "mean", ""},
		{`"true"`, "true", ""},
		{"[1, a, null, true]", []any{1.0, "a", nil, true}, ""}, {"[]", []any{}, ""}, {"[.inf, 1]", []any{1.0}, finite},
		{"[[1]]", []any{}, "want a number, true, false, null, a word or a list of them"},
		{"{a: 1}", nil, "want a number, true, false, null, a word or a list of them"},
	} {
		var doc yaml.Node
		require.NoError(t, yaml.Unmarshal([]byte(tt.text), &doc), tt.text)
		r := newReader("f", []byte(tt.text))
		got, ok := r.argument(doc.Content[0], 0)
		assert.Equal(t, tt.got, got, tt.text)
		if tt.want == "" {
			assert.Empty(t, r.errs, tt.text)
			assert.True(t, ok, tt.text)
			continue
		}
		require.Len(t, r.errs, 1, tt.text)
		assert.ErrorContains(t, r.errs[0], tt.want, tt.text)
	}
}

// TestDottedNames: what names a class of Python's, or one of a file.
func TestDottedNames(t *testing.T) {
	for text, want := range map[string]bool{
		"AdamW": true, "torch.optim.SGD": true, "_a.B_1": true, "a1": true, "Z": true, "z": true, "A.z": true, "a_9": true,
		"own.py:Own": true, "dir/own.py:Own.Inner": true,
		"": false, "1a": false, "9": false, "a.": false, ".a": false, "a..b": false, "a-b": false, "a b": false, "é": false,
		"a.1b": false, "own.py:": false, ".py:Own": false, "own.txt:Own": false,
		"own.py:1": false, ":Own": false, "a:b": false, "[": false, "@": false, "`": false, "{": false, "a/": false,
		"a:": false,
	} {
		r := newReader("f", []byte(text))
		assert.Equal(t, want, r.isClass(&yaml.Node{Line: 1, Column: 1}, text, "a class"), text)
		if !want {
			require.Len(t, r.errs, 1, text)
			assert.ErrorContains(t, r.errs[0], "want a class", text)
		}
	}
}
