package pickle

// Tuple is a Python tuple.
type Tuple []any

// List is a Python list: a pointer, because a list may be extended after others refer to it, and
// may hold itself.
type List struct{ Items []any }

// Set is a Python set or frozenset, in the order written.
type Set struct{ Items []any }

// Dict is a Python dict in the order written. A repeated key stays in Keys twice; Get answers with
// the last, as Python does.
type Dict struct {
	Keys, Values []any
	index        map[any]int
}

// linearDict is the most keys searched one by one.
const linearDict = 16

// Get returns the value under a string, integer, bool or nil key.
func (d *Dict) Get(key any) (any, bool) {
	if !hashable(key) {
		return nil, false
	}
	if len(d.Keys) <= linearDict {
		for i := len(d.Keys) - 1; i >= 0; i-- {
			if hashable(d.Keys[i]) && d.Keys[i] == key {
				return d.Values[i], true
			}
		}
		return nil, false
	}
	if d.index == nil {
		d.index = make(map[any]int, len(d.Keys))
		for i, k := range d.Keys {
			if hashable(k) {
				d.index[k] = i
			}
		}
	}
	i, ok := d.index[key]
	if !ok {
		return nil, false
	}
	return d.Values[i], true
}

// Lookup returns the value under a string key, or nil: what struct-like dicts are read with.
func (d *Dict) Lookup(key string) any {
	if len(d.Keys) <= linearDict {
		for i := len(d.Keys) - 1; i >= 0; i-- {
			if s, ok := d.Keys[i].(string); ok && s == key {
				return d.Values[i]
			}
		}
		return nil
	}
	v, _ := d.Get(key)
	return v
}

// hashable says whether comparing the value cannot panic.
func hashable(v any) bool {
	switch v.(type) {
	case nil, bool, int64, uint64, float64, string:
		return true
	}
	return false
}
