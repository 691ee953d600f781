// Package jsonschema is the part of JSON Schema (2020-12) that memspec's schemas of its own output use. It is for tests that start the command
// hundreds of times: a library of all of JSON Schema reads the metaschemas at each start. Tests hold it against such a library.
package jsonschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// Schema says which values fit.
type Schema struct{ root object }

type object = map[string]any

// Parse reads a schema. A keyword that Check would not hold values against is an error.
func Parse(text []byte) (*Schema, error) {
	value, err := decode(text)
	if err != nil {
		return nil, err
	}
	root, ok := value.(object)
	if !ok {
		return nil, fmt.Errorf("got a schema that is %s, want an object", kindOf(value))
	}
	s := &Schema{root}
	return s, s.known(root, "#")
}

// Check says where a JSON value does not fit, nil where it does.
func (s *Schema) Check(text []byte) error {
	value, err := decode(text)
	if err != nil {
		return err
	}
	return s.check(s.root, value, "#")
}

// decode reads one JSON value and nothing behind it, numbers as they are written.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("got more than one JSON value, want one")
	}
	return value, nil
}

// known goes through a schema and all within it.
func (s *Schema) known(schema any, at string) error {
	if _, ok := schema.(bool); ok {
		return nil
	}
	o, ok := schema.(object)
	if !ok {
		return fmt.Errorf("%s: got a schema that is %s, want an object", at, kindOf(schema))
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		v, at := o[key], at+"/"+key
		var err error
		switch key {
		case "$schema", "title", "description":
		case "type":
			err = all(listOf(v), func(_ int, name any) error {
				if !slices.Contains([]any{"null", "boolean", "object", "array", "number", "string", "integer"}, name) {
					return fmt.Errorf("%s: got type %v, want one of JSON Schema's", at, name)
				}
				return nil
			})
		case "enum", "const":
			err = all(listOf(v), func(_ int, want any) error {
				if k := kindOf(want); k == "object" || k == "array" {
					return fmt.Errorf("%s: got a value that is %s, want a plain one", at, k)
				}
				return nil
			})
		case "required":
			if _, ok := v.([]any); !ok {
				err = fmt.Errorf("%s: got %s, want an array", at, kindOf(v))
			}
		case "minimum", "maximum", "minItems":
			if _, ok := v.(json.Number); !ok {
				err = fmt.Errorf("%s: got %s, want a number", at, kindOf(v))
			}
		case "items", "additionalProperties":
			err = s.known(v, at)
		case "anyOf", "oneOf":
			err = all(listOf(v), func(i int, sub any) error { return s.known(sub, fmt.Sprint(at, "/", i)) })
		case "properties", "$defs":
			within, ok := v.(object)
			if !ok {
				return fmt.Errorf("%s: got %s, want an object", at, kindOf(v))
			}
			for _, name := range slices.Sorted(maps.Keys(within)) {
				if err := s.known(within[name], at+"/"+name); err != nil {
					return err
				}
			}
		case "$ref":
			if s.definition(v) == nil {
				err = fmt.Errorf("%s: got %v, want one of the schema's $defs", at, v)
			}
		default:
			err = fmt.Errorf("%s: got a keyword that is not read here", at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// definition is what a $ref names, nil where there is none of that name.
func (s *Schema) definition(ref any) any {
	text, _ := ref.(string)
	name, ok := strings.CutPrefix(text, "#/$defs/")
	defs, _ := s.root["$defs"].(object)
	if !ok {
		return nil
	}
	return defs[name]
}

func (s *Schema) check(schema, value any, at string) error {
	if allowed, ok := schema.(bool); ok {
		if !allowed {
			return fmt.Errorf("%s: got a value, want none", at)
		}
		return nil
	}
	o := schema.(object)
	if ref, ok := o["$ref"]; ok {
		if err := s.check(s.definition(ref), value, at); err != nil {
			return err
		}
	}
	if want, ok := o["type"]; ok && !slices.ContainsFunc(listOf(want), func(name any) bool { return is(value, name) }) {
		return fmt.Errorf("%s: got %s, want %v", at, kindOf(value), want)
	}
	if want, ok := o["const"]; ok && !same(value, want) {
		return fmt.Errorf("%s: got %v, want %v", at, value, want)
	}
	if want, ok := o["enum"]; ok && !slices.ContainsFunc(listOf(want), func(w any) bool { return same(value, w) }) {
		return fmt.Errorf("%s: got %v, want one of %v", at, value, want)
	}
	if err := s.either(o, value, at); err != nil {
		return err
	}
	switch v := value.(type) {
	case json.Number:
		if least, ok := o["minimum"]; ok && number(v).Cmp(number(least)) < 0 {
			return fmt.Errorf("%s: got %v, want at least %v", at, v, least)
		}
		if most, ok := o["maximum"]; ok && number(v).Cmp(number(most)) > 0 {
			return fmt.Errorf("%s: got %v, want at most %v", at, v, most)
		}
	case []any:
		if least, ok := o["minItems"]; ok && big.NewRat(int64(len(v)), 1).Cmp(number(least)) < 0 {
			return fmt.Errorf("%s: got %d items, want at least %v", at, len(v), least)
		}
		if items, ok := o["items"]; ok {
			return all(v, func(i int, item any) error { return s.check(items, item, fmt.Sprint(at, "/", i)) })
		}
	case object:
		return s.members(o, v, at)
	}
	return nil
}

// either holds a value against anyOf and oneOf.
func (s *Schema) either(o object, value any, at string) error {
	for _, key := range []string{"anyOf", "oneOf"} {
		ways, ok := o[key]
		if !ok {
			continue
		}
		fit, last := 0, error(nil)
		for _, way := range listOf(ways) {
			if err := s.check(way, value, at); err != nil {
				last = err
			} else {
				fit++
			}
		}
		if fit == 0 {
			return fmt.Errorf("%s: got none of %s that fits, want one: %w", at, key, last)
		}
		if key == "oneOf" && fit > 1 {
			return fmt.Errorf("%s: got %d of oneOf that fit, want one", at, fit)
		}
	}
	return nil
}

// members holds an object's members against required, properties and additionalProperties.
func (s *Schema) members(o, value object, at string) error {
	if required, ok := o["required"]; ok {
		for _, name := range listOf(required) {
			if _, ok := value[name.(string)]; !ok {
				return fmt.Errorf("%s: got no %q, want one", at, name)
			}
		}
	}
	properties, _ := o["properties"].(object)
	rest, closed := o["additionalProperties"]
	for _, name := range slices.Sorted(maps.Keys(value)) {
		of, ok := properties[name]
		if !ok {
			if !closed {
				continue
			}
			of = rest
		}
		if err := s.check(of, value[name], at+"/"+name); err != nil {
			return err
		}
	}
	return nil
}

// listOf is v, or a list of v alone.
func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

func all(list []any, f func(i int, v any) error) error {
	for i, v := range list {
		if err := f(i, v); err != nil {
			return err
		}
	}
	return nil
}

func number(v any) *big.Rat {
	r, ok := new(big.Rat).SetString(v.(json.Number).String())
	if !ok {
		panic(v) // encoding/json lets no other pass
	}
	return r
}

// same says whether two values are equal; 1 and 1.0 are.
func same(a, b any) bool {
	_, an := a.(json.Number)
	_, bn := b.(json.Number)
	if an && bn {
		return number(a).Cmp(number(b)) == 0
	}
	return an == bn && kindOf(a) == kindOf(b) && kindOf(a) != "object" && kindOf(a) != "array" && a == b
}

// is says whether a value has a type of JSON Schema's.
func is(value, name any) bool {
	kind := kindOf(value)
	return kind == name || kind == "number" && name == "integer" && number(value).IsInt()
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}
