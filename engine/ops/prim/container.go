package prim

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
)

func list(c *ops.Call, i int) *ops.List {
	l, _ := c.Args[i].(*ops.List)
	if l == nil {
		return &ops.List{}
	}
	return l
}

func dict(c *ops.Call, i int) *ops.Dict {
	d, _ := c.Args[i].(*ops.Dict)
	if d == nil {
		return &ops.Dict{}
	}
	return d
}

// index wraps a list index.
func index(c *ops.Call, i int64, n int) (int, error) {
	at := i
	if at < 0 {
		at += int64(n)
	}
	if at < 0 || at >= int64(n) {
		return 0, c.Errorf("got index %d into a list of %d", i, n)
	}
	return int(at), nil
}

func listAppend(c *ops.Call) (any, error) {
	l := list(c, 0)
	c.M.Hold(c.Args[1])
	l.Items = append(l.Items, c.Args[1])
	return l, nil
}

func listExtend(c *ops.Call) (any, error) {
	l, o := list(c, 0), list(c, 1)
	if len(l.Items)+len(o.Items) > maxItems {
		return nil, c.Errorf("got a list of more than %d items", maxItems)
	}
	for _, v := range o.Items {
		c.M.Hold(v)
	}
	l.Items = append(l.Items, o.Items...)
	return nil, nil
}

func listAdd_(c *ops.Call) (any, error) {
	_, err := listExtend(c)
	return c.Args[0], err
}

func listMul_(c *ops.Call) (any, error) {
	l := list(c, 0)
	v, err := repeatList(c, l, c.Int("n"))
	if err != nil {
		return nil, err
	}
	for _, old := range l.Items {
		c.M.Drop(old)
	}
	l.Items = v.(*ops.List).Items
	return l, nil
}

func listInsert(c *ops.Call) (any, error) {
	l := list(c, 0)
	i := c.Int("idx")
	if i < 0 {
		i = max(i+int64(len(l.Items)), 0)
	}
	c.M.Hold(c.Args[2])
	l.Items = slices.Insert(l.Items, int(min(i, int64(len(l.Items)))), c.Args[2])
	return nil, nil
}

func listReverse(c *ops.Call) (any, error) {
	slices.Reverse(list(c, 0).Items)
	return nil, nil
}

func find(l *ops.List, el any) int {
	return slices.IndexFunc(l.Items, func(v any) bool { _, eq, _ := compareValues(v, el); return eq })
}

func listRemove(c *ops.Call) (any, error) {
	l := list(c, 0)
	i := find(l, c.Args[1])
	if i < 0 {
		return nil, c.Errorf("got an item that is not in the list")
	}
	v := l.Items[i]
	l.Items = slices.Delete(l.Items, i, i+1)
	c.M.Drop(v)
	return nil, nil
}

func listIndex(c *ops.Call) (any, error) {
	i := find(list(c, 0), c.Args[1])
	if i < 0 {
		return nil, c.Errorf("got an item that is not in the list")
	}
	return int64(i), nil
}

func listCount(c *ops.Call) (any, error) {
	n := int64(0)
	for _, v := range list(c, 0).Items {
		if _, eq, _ := compareValues(v, c.Args[1]); eq {
			n++
		}
	}
	return n, nil
}

func listCopy(c *ops.Call) (any, error) {
	if s, ok := c.Args[0].(string); ok {
		var items []any
		for _, r := range s {
			items = append(items, string(r))
		}
		return c.List(schema.Str, items...), nil
	}
	l := list(c, 0)
	return c.List(l.Elem, slices.Clone(l.Items)...), nil
}

func sortItems(items []any, reverse bool) {
	slices.SortStableFunc(items, func(a, b any) int {
		o, _, _ := compareValues(a, b)
		if o == 2 {
			o = 0
		}
		if reverse {
			return -o
		}
		return o
	})
}

func listSort(c *ops.Call) (any, error) {
	sortItems(list(c, 0).Items, c.Bool("reverse"))
	return nil, nil
}

func listSorted(c *ops.Call) (any, error) {
	items := slices.Clone(list(c, 0).Items)
	sortItems(items, false)
	return c.List(list(c, 0).Elem, items...), nil
}

func deleteItem(c *ops.Call) (any, error) {
	if d, ok := c.Args[0].(*ops.Dict); ok {
		_, err := take(c, d, c.Args[1])
		return nil, err
	}
	l := list(c, 0)
	i, err := index(c, c.Int("idx"), len(l.Items))
	if err != nil {
		return nil, err
	}
	v := l.Items[i]
	l.Items = slices.Delete(l.Items, i, i+1)
	c.M.Drop(v)
	return nil, nil
}

// take removes a key and returns its value, both held until the operator returns.
func take(c *ops.Call, d *ops.Dict, key any) (any, error) {
	i := d.Find(key)
	if i < 0 {
		return nil, c.Errorf("got key %v, want one that is in the dict", key)
	}
	k, v := d.Keys[i], d.Values[i]
	c.M.Keep(k)
	c.M.Keep(v)
	d.Remove(i)
	c.M.Drop(k)
	c.M.Drop(v)
	return v, nil
}

func dictKeys(c *ops.Call) (any, error) {
	d := dict(c, 0)
	return c.List(schema.Any, slices.Clone(d.Keys)...), nil
}

func dictValues(c *ops.Call) (any, error) {
	return c.List(schema.Any, slices.Clone(dict(c, 0).Values)...), nil
}

func dictItems(c *ops.Call) (any, error) {
	d := dict(c, 0)
	items := make([]any, len(d.Keys))
	for i := range items {
		items[i] = c.Tuple(d.Keys[i], d.Values[i])
	}
	return c.List(schema.Tuple, items...), nil
}

// put stores a value under a key.
func put(c *ops.Call, d *ops.Dict, key, v any) {
	c.M.Hold(v)
	if i := d.Find(key); i >= 0 {
		old := d.Values[i]
		d.Values[i] = v
		c.M.Drop(old)
		return
	}
	c.M.Hold(key)
	d.Keys, d.Values = append(d.Keys, key), append(d.Values, v)
}

func dictUpdate(c *ops.Call) (any, error) {
	d, o := dict(c, 0), dict(c, 1)
	for i := range o.Keys {
		put(c, d, o.Keys[i], o.Values[i])
	}
	return nil, nil
}

func dictSetdefault(c *ops.Call) (any, error) {
	d := dict(c, 0)
	if i := d.Find(c.Args[1]); i >= 0 {
		return d.Values[i], nil
	}
	put(c, d, c.Args[1], c.Args[2])
	return c.Args[2], nil
}

func dictPopitem(c *ops.Call) (any, error) {
	d := dict(c, 0)
	if len(d.Keys) == 0 {
		return nil, c.Errorf("got an empty dict, want items")
	}
	key := d.Keys[0] // the first, unlike Python
	v, err := take(c, d, key)
	if err != nil {
		return nil, err
	}
	return c.Tuple(key, v), nil
}

func dictGet(c *ops.Call) (any, error) {
	d := dict(c, 0)
	if i := d.Find(c.Args[1]); i >= 0 {
		return d.Values[i], nil
	}
	if len(c.Args) > 2 {
		return c.Args[2], nil
	}
	return nil, nil
}

func dictMake(c *ops.Call) (any, error) {
	out := &ops.Dict{}
	if len(c.Args) == 0 {
		return out, nil
	}
	if d, ok := c.Args[0].(*ops.Dict); ok {
		for i := range d.Keys {
			put(c, out, d.Keys[i], d.Values[i])
		}
		return out, nil
	}
	for _, item := range list(c, 0).Items {
		if t, ok := item.(*ops.Tuple); ok && len(t.Items) == 2 {
			put(c, out, t.Items[0], t.Items[1])
		}
	}
	return out, nil
}

func setItem(c *ops.Call) (any, error) {
	if d, ok := c.Args[0].(*ops.Dict); ok {
		put(c, d, c.Args[1], c.Args[2])
		return nil, nil
	}
	l := list(c, 0)
	i, err := index(c, c.Int("idx"), len(l.Items))
	if err != nil {
		return nil, err
	}
	c.M.Hold(c.Args[2])
	old := l.Items[i]
	l.Items[i] = c.Args[2]
	c.M.Drop(old)
	return l, nil
}

func clearAll(c *ops.Call) (any, error) {
	if d, ok := c.Args[0].(*ops.Dict); ok {
		keys, values := d.Keys, d.Values
		*d = ops.Dict{Refs: d.Refs}
		for i := range keys {
			c.M.Drop(keys[i])
			c.M.Drop(values[i])
		}
		return nil, nil
	}
	l := list(c, 0)
	items := l.Items
	l.Items = nil
	for _, v := range items {
		c.M.Drop(v)
	}
	return nil, nil
}

func copyContainer(c *ops.Call) (any, error) {
	if _, ok := c.Args[0].(*ops.Dict); ok {
		return dictMake(c)
	}
	return listCopy(c)
}

func popItem(c *ops.Call) (any, error) {
	if d, ok := c.Args[0].(*ops.Dict); ok {
		if len(c.Args) > 2 && d.Find(c.Args[1]) < 0 {
			return c.Args[2], nil
		}
		return take(c, d, c.Args[1])
	}
	l := list(c, 0)
	i, err := index(c, c.Int("idx"), len(l.Items))
	if err != nil {
		return nil, err
	}
	v := l.Items[i]
	c.M.Keep(v)
	l.Items = slices.Delete(l.Items, i, i+1)
	c.M.Drop(v)
	return v, nil
}

func containsItem(c *ops.Call) (any, error) {
	if d, ok := c.Args[0].(*ops.Dict); ok {
		return d.Find(c.Args[1]) >= 0, nil
	}
	return find(list(c, 0), c.Args[1]) >= 0, nil
}

func lenOf(c *ops.Call) (any, error) {
	switch v := c.Args[0].(type) {
	case *ops.List:
		return int64(len(v.Items)), nil
	case *ops.Tuple:
		return int64(len(v.Items)), nil
	case *ops.Dict:
		return int64(len(v.Keys)), nil
	case string:
		return int64(len(v)), nil
	}
	t := c.T("t")
	if t == nil {
		return nil, c.Errorf("got %s, want something with a length", ops.TypeName(c.Args[0]))
	}
	if len(t.Sizes) == 0 {
		return nil, c.Errorf("got a 0-dim tensor, want one with a length")
	}
	return t.Sizes[0], nil
}

func getItem(c *ops.Call) (any, error) {
	switch v := c.Args[0].(type) {
	case *ops.Dict:
		i := v.Find(c.Args[1])
		if i < 0 {
			return nil, c.Errorf("got key %v, want one that is in the dict", c.Args[1])
		}
		return v.Values[i], nil
	case string:
		n, _ := isInt(c.Args[1])
		i, err := index(c, n, len(v))
		if err != nil {
			return nil, err
		}
		return v[i : i+1], nil
	}
	return listSelect(c)
}

func listSelect(c *ops.Call) (any, error) {
	l := list(c, 0)
	n, _ := isInt(c.Args[1])
	i, err := index(c, n, len(l.Items))
	if err != nil {
		return nil, err
	}
	return l.Items[i], nil
}

// sliceRange is Python's slice.indices.
func sliceRange(c *ops.Call, n int64) (start, end, step int64, err error) {
	step = c.Int("step")
	if step == 0 {
		return 0, 0, 0, c.Errorf("got step 0, want another")
	}
	lo, hi := int64(0), n
	if step < 0 {
		lo, hi = -1, n-1
	}
	at := func(name string, other int64) int64 {
		if !c.Has(name) {
			return other
		}
		i := c.Int(name)
		if i < 0 {
			i += n
		}
		return min(max(i, lo), hi)
	}
	if step > 0 {
		return at("start", lo), at("end", hi), step, nil
	}
	return at("start", hi), at("end", lo), step, nil
}

func sliceHost(c *ops.Call) (any, error) {
	if s, ok := c.Args[0].(string); ok {
		start, end, step, err := sliceRange(c, int64(len(s)))
		if err != nil {
			return nil, err
		}
		var out []byte
		for i := start; step > 0 && i < end || step < 0 && i > end; i += step {
			out = append(out, s[i])
		}
		return string(out), nil
	}
	l := list(c, 0)
	start, end, step, err := sliceRange(c, int64(len(l.Items)))
	if err != nil {
		return nil, err
	}
	var items []any
	for i := start; step > 0 && i < end || step < 0 && i > end; i += step {
		items = append(items, l.Items[i])
	}
	return c.List(l.Elem, items...), nil
}

func rangeList(c *ops.Call) (any, error) {
	n := c.Int("n")
	if n > maxItems {
		return nil, c.Errorf("got a range of %d, want at most %d", n, maxItems)
	}
	items := make([]any, max(n, 0))
	for i := range items {
		items[i] = int64(i)
	}
	return c.List(schema.Int, items...), nil
}
