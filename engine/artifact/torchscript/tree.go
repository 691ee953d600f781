package torchscript

import (
	"slices"
	"strconv"
	"unsafe"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// This file walks the object tree and gives modules and tensors their names.

// nameTree lists the modules depth first and names every tensor by the first path that leads to it,
// constants first.
func (d *decoder) nameTree(root *program.Object) {
	ofCode := true
	w := walker{
		tensor: func(s *program.State, name string) {
			if s.Name == "" {
				s.Name, s.OfCode = name, ofCode
			}
		},
	}
	for i, v := range d.consts {
		w.walk(v, "CONSTANTS.c"+strconv.Itoa(i))
	}
	ofCode = false
	w.module = func(m *program.Module) { d.prog.Modules = append(d.prog.Modules, m) }
	w.walk(root, "")
	for _, s := range d.prog.States {
		if s.Name == "" { // scales of a quantised tensor: nothing else holds them
			s.Name = s.Record
		}
		if s.Class == tensor.Activation { // not said so far: an attribute of a module
			s.Class = tensor.Constant
		}
	}
}

// walker visits every object and tensor below a value once.
type walker struct {
	tensor func(s *program.State, name string)
	module func(m *program.Module)
	parent *program.Module
	seen   map[any]bool
	paths  []byte
	depth  int
}

func (w *walker) walk(v any, name string) {
	switch v := v.(type) {
	case *program.State:
		w.tensor(v, name)
		return
	case *program.Object, *program.ListLit, *program.TupleLit, *program.DictLit, *program.Opaque:
		if w.seen == nil {
			w.seen = make(map[any]bool, 64)
		}
		if w.seen[v] || w.depth > maxDepth {
			return
		}
		w.seen[v] = true
	default:
		return
	}
	w.depth++
	switch v := v.(type) {
	case *program.Object:
		w.object(v, name)
	case *program.ListLit:
		w.all(v.Items, name)
	case *program.TupleLit:
		w.all(v.Items, name)
	case *program.DictLit:
		for i, k := range v.Keys {
			key, ok := k.(string)
			if !ok {
				key = strconv.Itoa(i)
			}
			w.walk(v.Values[i], w.join(name, key))
		}
	case *program.Opaque:
		w.walk(v.State, name)
	}
	w.depth--
}

func (w *walker) all(items []any, name string) {
	for i, v := range items {
		switch v.(type) {
		case *program.State, *program.Object, *program.ListLit, *program.TupleLit, *program.DictLit, *program.Opaque:
			w.walk(v, w.join(name, strconv.Itoa(i)))
		}
	}
}

// object visits an object's attributes: first the module itself is listed, then its children in the
// order of its class.
func (w *walker) object(o *program.Object, name string) {
	c := o.Class
	parent := w.parent
	if c.Kind == program.ModuleClass {
		o.FQN = name
		if w.module != nil {
			m := &program.Module{FQN: name, Class: c.Name, Object: o, Parent: parent}
			w.module(m)
			w.parent = m
		}
	}
	for i, v := range o.Attrs {
		switch v := v.(type) {
		case *program.State:
			w.category(v, c, c.Attrs[i].Name)
			w.tensor(v, w.join(name, c.Attrs[i].Name))
		case *program.Object, *program.ListLit, *program.TupleLit, *program.DictLit, *program.Opaque:
			w.walk(v, w.join(name, c.Attrs[i].Name))
		}
	}
	w.walk(o.State, name)
	w.parent = parent
}

// category is what the class says of its attribute. Classes of PyTorch up to 1.4 name no buffers:
// there every other tensor is one.
func (w *walker) category(s *program.State, c *program.Class, attr string) {
	if s.Class != tensor.Activation || c.Kind != program.ModuleClass {
		return
	}
	switch {
	case slices.Contains(c.Parameters, attr):
		s.Class = tensor.Parameter
	case c.Buffers == nil || slices.Contains(c.Buffers, attr):
		s.Class = tensor.Buffer
	}
}

// join is the path of b in a. Paths are written one behind another into pieces of memory: a model
// has a thousand, which live as long as it does.
func (w *walker) join(a, b string) string {
	if a == "" {
		return b
	}
	n := len(a) + 1 + len(b)
	if cap(w.paths)-len(w.paths) < n {
		w.paths = make([]byte, 0, max(n, pathChunk))
	}
	from := len(w.paths)
	w.paths = append(append(append(w.paths, a...), '.'), b...)
	return unsafe.String(&w.paths[from], n) // nobody writes there again
}

// pathChunk is how many bytes of paths are allocated at once.
const pathChunk = 4 << 10
