package modelfolder

import (
	"github.com/memspec/memspec/engine/internal/jsonscan"
	"github.com/memspec/memspec/engine/regular"
)

// object is a JSON object.
type object = map[string]any

// objectText is how much text an object of a config or of a safetensors header has at least, on
// average.
const objectText = 16

// readObject reads a document that is one JSON object, as Python's json reads it: with Infinity and
// NaN.
func readObject(data []byte) (object, error) {
	if err := regular.CheckJSON(data, objectText); err != nil {
		return nil, err
	}
	s := jsonscan.New(data)
	out := object{}
	s.Object(func(key string) { out[key] = s.Value() })
	s.End()
	return out, s.Err()
}

// member is the value at a path of names, and whether every part of it is there.
func member(o object, path []string) (any, bool) {
	last := len(path) - 1
	for _, part := range path[:last] {
		o, _ = o[part].(object)
	}
	value, ok := o[path[last]]
	return value, ok
}

// kindOf names what a value is.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a bool"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case string:
		return "a string"
	case []any:
		return "a list"
	}
	return "an object"
}
