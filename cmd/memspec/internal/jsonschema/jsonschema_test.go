package jsonschema

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	library "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What fits and what does not, for each keyword; the library says the same of every row.
func TestCheck(t *testing.T) {
	for _, c := range []struct{ schema, value, want string }{
		{`{}`, `{"a": [1]}`, ""},
		{`{"title": "t", "description": "d", "$schema": "https://json-schema.org/draft/2020-12/schema"}`, `1`, ""},
		{`{"type": "null"}`, `null`, ""},
		{`{"type": "null"}`, `0`, "#: got number, want null"},
		{`{"type": "boolean"}`, `true`, ""},
		{`{"type": "boolean"}`, `"true"`, "#: got string, want boolean"},
		{`{"type": "string"}`, `""`, ""},
		{`{"type": "string"}`, `false`, "#: got boolean, want string"},
		{`{"type": "array"}`, `[]`, ""},
		{`{"type": "array"}`, `{}`, "#: got object, want array"},
		{`{"type": "object"}`, `{}`, ""},
		{`{"type": "object"}`, `[]`, "#: got array, want object"},
		{`{"type": "number"}`, `1.5`, ""},
		{`{"type": "number"}`, `null`, "#: got null, want number"},
		{`{"type": "integer"}`, `3`, ""},
		{`{"type": "integer"}`, `3.0`, ""},
		{`{"type": "integer"}`, `3e2`, ""},
		{`{"type": "integer"}`, `3.5`, "#: got number, want integer"},
		{`{"type": ["string", "null"]}`, `null`, ""},
		{`{"type": ["string", "null"]}`, `1`, "#: got number, want [string null]"},
		{`{"const": 1}`, `1`, ""},
		{`{"const": 1}`, `1.0`, ""},
		{`{"const": 1}`, `2`, "#: got 2, want 1"},
		{`{"const": 1}`, `"1"`, "#: got 1, want 1"},
		{`{"const": 1}`, `[1]`, "#: got [1], want 1"},
		{`{"const": null}`, `{}`, "#: got map[], want <nil>"},
		{`{"const": true}`, `true`, ""},
		{`{"enum": ["a", null]}`, `null`, ""},
		{`{"enum": ["a", null]}`, `"a"`, ""},
		{`{"enum": ["a", null]}`, `"b"`, "#: got b, want one of [a <nil>]"},
		{`{"minimum": 0}`, `0`, ""},
		{`{"minimum": 0}`, `-0.5`, "#: got -0.5, want at least 0"},
		{`{"minimum": 9007199254740993}`, `9007199254740992`, "#: got 9007199254740992, want at least 9007199254740993"}, // equal as float64
		{`{"minimum": 0}`, `"x"`, ""},
		{`{"maximum": 5}`, `5`, ""},
		{`{"maximum": 5}`, `6`, "#: got 6, want at most 5"},
		{`{"minItems": 1}`, `[0]`, ""},
		{`{"minItems": 1}`, `[]`, "#: got 0 items, want at least 1"},
		{`{"items": {"type": "string"}}`, `["a", "b"]`, ""},
		{`{"items": {"type": "string"}}`, `["a", 1]`, "#/1: got number, want string"},
		{`{"items": {"type": "string"}}`, `1`, ""},
		{`{"required": ["a", "b"]}`, `{"a": null, "b": 1}`, ""},
		{`{"required": ["a", "b"]}`, `{"a": 1}`, `#: got no "b", want one`},
		{`{"required": ["a"]}`, `[]`, ""},
		{`{"properties": {"a": {"type": "string"}}}`, `{"a": "", "b": 1}`, ""},
		{`{"properties": {"a": {"type": "string"}}}`, `{"a": 1}`, "#/a: got number, want string"},
		{`{"properties": {"a": {}}, "additionalProperties": false}`, `{"a": 1}`, ""},
		{`{"properties": {"a": {}}, "additionalProperties": false}`, `{"b": 1}`, "#/b: got a value, want none"},
		{`{"properties": {"a": {}}, "additionalProperties": {"type": "string"}}`, `{"a": 1, "b": "x"}`, ""},
		{`{"properties": {"a": {}}, "additionalProperties": {"type": "string"}}`, `{"b": 1}`, "#/b: got number, want string"},
		{`{"additionalProperties": true}`, `{"b": 1}`, ""},
		{`{"anyOf": [{"type": "string"}, {"minimum": 3}]}`, `4`, ""},
		{`{"anyOf": [{"minimum": 1}, {"minimum": 3}]}`, `4`, ""},
		{`{"anyOf": [{"type": "string"}, {"minimum": 3}]}`, `2`, "#: got none of anyOf that fits, want one: #: got 2, want at least 3"},
		{`{"oneOf": [{"minimum": 1}, {"minimum": 3}]}`, `2`, ""},
		{`{"oneOf": [{"minimum": 1}, {"minimum": 3}]}`, `4`, "#: got 2 of oneOf that fit, want one"},
		{`{"oneOf": [{"minimum": 1}, {"minimum": 3}]}`, `0`, "#: got none of oneOf that fits, want one: #: got 0, want at least 3"},
		{`{"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}}`, `[[], [[]]]`, ""},
		{`{"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}}`, `[[], [1]]`, "#/1/0: got number, want array"},
		{`{"$ref": "#/$defs/t", "minimum": 2, "$defs": {"t": {"type": "number"}}}`, `1`, "#: got 1, want at least 2"}, // beside a $ref counts too
	} {
		t.Run(c.schema+" "+c.value, func(t *testing.T) {
			s, err := Parse([]byte(c.schema))
			require.NoError(t, err)
			got := s.Check([]byte(c.value))
			if c.want == "" {
				require.NoError(t, got)
			} else {
				require.EqualError(t, got, c.want)
			}
			assert.Equal(t, c.want == "", libraryFits(t, c.schema, c.value), "the library's answer")
		})
	}
}

func libraryFits(t *testing.T, schema, value string) bool {
	t.Helper()
	doc, err := library.UnmarshalJSON(bytes.NewReader([]byte(schema)))
	require.NoError(t, err)
	c := library.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", doc))
	s, err := c.Compile("schema.json")
	require.NoError(t, err)
	v, err := library.UnmarshalJSON(bytes.NewReader([]byte(value)))
	require.NoError(t, err)
	return s.Validate(v) == nil
}

// What would not be held against is refused, however deep it stands, and so is what is no JSON.
func TestParse(t *testing.T) {
	for schema, want := range map[string]string{
		`{"items": {"pattern": "a"}}`:                "#/items/pattern: got a keyword that is not read here",
		`{"$defs": {"a": {"maxItems": 1}}}`:          "#/$defs/a/maxItems: got a keyword that is not read here",
		`{"properties": {"a": {"not": {}}}}`:         "#/properties/a/not: got a keyword that is not read here",
		`{"oneOf": [{}, {"if": {}}]}`:                "#/oneOf/1/if: got a keyword that is not read here",
		`{"additionalProperties": {"minLength": 1}}`: "#/additionalProperties/minLength: got a keyword that is not read here",
		`{"$ref": "#/$defs/b", "$defs": {"a": {}}}`:  "#/$ref: got #/$defs/b, want one of the schema's $defs",
		`{"$ref": "other.json"}`:                     "#/$ref: got other.json, want one of the schema's $defs",
		`{"type": "int"}`:                            "#/type: got type int, want one of JSON Schema's",
		`{"const": {}}`:                              "#/const: got a value that is object, want a plain one",
		`{"enum": [[]]}`:                             "#/enum: got a value that is array, want a plain one",
		`{"minimum": "1"}`:                           "#/minimum: got string, want a number",
		`{"required": "a"}`:                          "#/required: got string, want an array",
		`{"properties": []}`:                         "#/properties: got array, want an object",
		`{"items": 1}`:                               "#/items: got a schema that is number, want an object",
		`[]`:                                         "got a schema that is array, want an object",
		`{} {}`:                                      "got more than one JSON value, want one",
		`{`:                                          "unexpected EOF",
	} {
		_, err := Parse([]byte(schema))
		assert.EqualError(t, err, want, schema)
	}
	s, err := Parse([]byte(`{}`))
	require.NoError(t, err)
	assert.EqualError(t, s.Check([]byte(`1 2`)), "got more than one JSON value, want one")
}

// The schemas of memspec's output have no keyword that is not read here, and are good schemas to the library.
func TestOwnSchemas(t *testing.T) {
	files, err := filepath.Glob("../../../../engine/report/schemas/*.schema.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		_, err = Parse(text)
		assert.NoError(t, err, f)
		assert.False(t, libraryFits(t, string(text), `"none of them is a string"`), f)
	}
}
