package torchscript

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/memspec/memspec/engine/internal/pickle"
	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// This file turns data.pkl and constants.pkl into objects and literals. The globals PyTorch's
// pickler writes are the rows of unpickler.global; tensors are in tensors.go.

// readObjects reads the constants first: that is the order PyTorch loads tensors in
// (ScriptModuleDeserializer::deserialize, torch/csrc/jit/serialization/import.cpp).
func (d *decoder) readObjects() error {
	u := &unpickler{d: d, lists: map[*pickle.List]*program.ListLit{}, dicts: map[*pickle.Dict]*program.DictLit{},
		tuples: map[*any]*program.TupleLit{}, records: make(map[string]int, len(d.names)-len(d.files))}
	var err error
	if u.sizes, err = ptzip.SizesOf(d.fs); err != nil {
		return err
	}
	if data, err := fs.ReadFile(d.fs, "constants.pkl"); err == nil {
		u.folder, u.constants = "constants/", true
		v, err := u.read("constants.pkl", data)
		if err != nil {
			return err
		}
		t, ok := v.(*program.TupleLit)
		if !ok {
			return fmt.Errorf("constants.pkl: got %s, want a tuple", literalName(v))
		}
		d.consts = t.Items
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.lateConstants(); err != nil {
		return err
	}
	data, err := fs.ReadFile(d.fs, "data.pkl")
	if err != nil {
		return err
	}
	u.folder, u.constants = "data/", false
	d.root, err = u.read("data.pkl", data)
	if err != nil {
		return err
	}
	return nil
}

// unpickler gives meaning to what a pickle names.
type unpickler struct {
	d         *decoder
	folder    string // of the tensors' records
	constants bool
	lists     map[*pickle.List]*program.ListLit
	dicts     map[*pickle.Dict]*program.DictLit
	tuples    map[*any]*program.TupleLit // by first item
	records   map[string]int             // storage numbers
	sizes     ptzip.Sizes
	depth     int
}

// maxPickle bounds what the values of a record take, in bytes.
const maxPickle = 256 << 20

func (u *unpickler) read(record string, data []byte) (any, error) {
	v, err := pickle.Decode(data, pickle.Options{
		MaxBytes: maxPickle,

		Globals:        u.global,
		Reduce:         u.reduce,
		Build:          u.build,
		NewObj:         u.newObject,
		PersistentLoad: u.storage,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", record, err)
	}
	if v, err = u.literal(v); err != nil {
		return nil, fmt.Errorf("%s: %w", record, err)
	}
	return v, nil
}

// What a global can be, apart from a storageType.
type (
	classRef string // a class of the archive or of torch.classes
	builder  uint8  // a function
	listOf   program.TypeKind
)

const (
	rebuildTensor builder = iota
	rebuildParameter
	rebuildQuantized
	rebuildSparse
	rebuildMeta
	rebuildFromType
	restoreTypeTag
	makeDevice
	makeComplex
	orderedDict
	tensorClass // torch.Tensor, an argument of rebuildFromType
	fromTable
)

// global is what a pickle may name.
func (u *unpickler) global(module, name string) (any, bool) {
	switch module {
	case "torch._utils":
		switch name {
		case "_rebuild_tensor_v2":
			return rebuildTensor, true
		case "_rebuild_parameter":
			return rebuildParameter, true
		case "_rebuild_qtensor":
			return rebuildQuantized, true
		case "_rebuild_sparse_tensor":
			return rebuildSparse, true
		case "_rebuild_meta_tensor_no_storage":
			return rebuildMeta, true
		}
		return nil, false
	case "torch._tensor":
		return rebuildFromType, name == "_rebuild_from_type_v2"
	case "torch.jit._pickle":
		switch name {
		case "restore_type_tag":
			return restoreTypeTag, true
		case "build_intlist":
			return listOf(program.IntType), true
		case "build_doublelist":
			return listOf(program.FloatType), true
		case "build_complexlist":
			return listOf(program.ComplexType), true
		case "build_boollist":
			return listOf(program.BoolType), true
		case "build_tensorlist":
			return listOf(program.TensorType), true
		case "build_tensor_from_id":
			return fromTable, true
		}
		return nil, false
	case "collections":
		return orderedDict, name == "OrderedDict"
	case "builtins", "__builtin__":
		return makeComplex, name == "complex"
	case "torch", "torch.storage":
		switch name {
		case "device":
			return makeDevice, true
		case "Tensor":
			return tensorClass, true
		}
		if t, ok := storageTypes[name]; ok {
			return t, true
		}
		if q, ok := quantSchemes[name]; ok {
			return q, true
		}
		return nil, false
	}
	full := module + "." + name
	if c := u.d.classes[full]; c != nil || strings.HasPrefix(full, customClasses) {
		return classRef(full), true
	}
	return nil, false
}

// customClasses is where classes written in C++ live: packed parameters and the like.
const customClasses = "__torch__.torch.classes."

func (u *unpickler) newObject(cls any, _ []any) (any, error) {
	name, ok := cls.(classRef)
	if !ok {
		return nil, fmt.Errorf("got an object of %v, want a class", cls)
	}
	if strings.HasPrefix(string(name), customClasses) {
		return &program.Opaque{Class: string(name)}, nil
	}
	c := u.d.classes[string(name)]
	if c.Kind != program.PlainClass && c.Kind != program.ModuleClass {
		return nil, fmt.Errorf("got an object of %s, want a module or a plain class", name)
	}
	return &program.Object{Class: c}, nil
}

// build fills an object: with a dict by attribute, or, where its class has __setstate__, with what
// that will be called with.
func (u *unpickler) build(obj, state any) (any, error) {
	switch o := obj.(type) {
	case *program.Opaque:
		var err error
		o.State, err = u.packed(state)
		return o, err
	case *program.Object:
		c := o.Class
		o.Attrs = make([]any, len(c.Attrs))
		for i := range c.Attrs {
			o.Attrs[i] = c.Attrs[i].Default
		}
		if c.Method("__setstate__") != nil {
			v, err := u.literal(state)
			o.State, o.HasState = v, true
			return o, err
		}
		attrs, ok := state.(*pickle.Dict)
		if !ok {
			return nil, fmt.Errorf("got %T as the state of %s, want a dict", state, c.Name)
		}
		for i, k := range attrs.Keys {
			name, _ := k.(string)
			at, ok := c.AttrIndex(name)
			if !ok {
				return nil, fmt.Errorf("got attribute %v of %s, which its class does not declare", k, c.Name)
			}
			v, err := u.literal(attrs.Values[i])
			if err != nil {
				return nil, fmt.Errorf("%s.%s: %w", c.Name, name, err)
			}
			o.Attrs[at] = v
		}
		return o, nil
	}
	return nil, fmt.Errorf("got a state for %T, want one for an object", obj)
}

// packed is the state of a custom class; its tensors are known as packed.
func (u *unpickler) packed(state any) (any, error) {
	v, err := u.literal(state)
	if err != nil {
		return nil, err
	}
	w := walker{tensor: func(s *program.State, _ string) { s.Packed = true }}
	w.walk(v, "")
	return v, nil
}

func (u *unpickler) reduce(fn any, args []any) (any, error) {
	switch fn := fn.(type) {
	case builder:
		return u.call(fn, args)
	case listOf:
		if len(args) != 1 {
			return nil, fmt.Errorf("got %d arguments for a list, want 1", len(args))
		}
		return u.tagged(args[0], &program.Type{Kind: program.ListType,
			Elems: []*program.Type{{Kind: program.TypeKind(fn)}}})
	case classRef:
		if c := u.d.classes[string(fn)]; c != nil && c.Kind == program.EnumClass && len(args) == 1 {
			for _, a := range c.Attrs {
				if a.Default == args[0] {
					return program.EnumLit{Class: c, Name: a.Name, Value: a.Default}, nil
				}
			}
			return nil, fmt.Errorf("got %v, want a value of %s", args[0], fn)
		}
		return nil, fmt.Errorf("got a call of %s, want an object", string(fn))
	}
	return nil, fmt.Errorf("got a call of %T, want a function", fn)
}

func (u *unpickler) call(fn builder, args []any) (any, error) {
	switch fn {
	case rebuildTensor, rebuildQuantized:
		return u.tensor(fn == rebuildQuantized, args)
	case rebuildParameter:
		s, ok := first(args).(*program.State)
		if !ok {
			return nil, fmt.Errorf("got %T as a parameter, want a tensor", first(args))
		}
		s.Class = tensor.Parameter
		if len(args) > 1 {
			s.Meta.RequiresGrad, _ = args[1].(bool)
		}
		return s, nil
	case rebuildMeta:
		return u.metaTensor(args)
	case rebuildSparse:
		v, err := u.literal(pickle.Tuple(args))
		return &program.Opaque{Class: "torch.Tensor with a sparse layout", State: v}, err
	case rebuildFromType:
		if len(args) != 4 {
			return nil, fmt.Errorf("got %d arguments for a tensor of a subclass, want 4", len(args))
		}
		base, ok := args[2].(pickle.Tuple)
		if !ok {
			return nil, fmt.Errorf("got %T as a tensor's arguments, want a tuple", args[2])
		}
		return u.reduce(args[0], base)
	case restoreTypeTag:
		name, ok := "", false
		if len(args) == 2 {
			name, ok = args[1].(string)
		}
		if !ok {
			return nil, errors.New("got no type in restore_type_tag, want one")
		}
		t, err := u.d.typeText(name)
		if err != nil {
			return nil, err
		}
		return u.tagged(args[0], t)
	case makeDevice:
		name, ok := first(args).(string)
		if !ok {
			return nil, errors.New("got a device without a name")
		}
		if len(args) == 2 {
			name = fmt.Sprintf("%s:%v", name, args[1])
		}
		return program.Device(name), nil
	case makeComplex:
		if len(args) == 2 {
			re, ok1 := args[0].(float64)
			im, ok2 := args[1].(float64)
			if ok1 && ok2 {
				return complex(re, im), nil
			}
		}
		return nil, errors.New("got a complex number without two parts")
	case orderedDict:
		return &pickle.Dict{}, nil
	}
	return nil, errors.New("got a tensor from a table that data.pkl does not have")
}

func first(args []any) any {
	if len(args) == 0 {
		return nil
	}
	return args[0]
}

// tagged is a list or dict with the type the archive states for it.
func (u *unpickler) tagged(v any, t *program.Type) (any, error) {
	v, err := u.literal(v)
	if err != nil {
		return nil, err
	}
	if l, ok := v.(*program.ListLit); ok && t.Kind == program.ListType && len(t.Elems) == 1 {
		l.Elem = t.Elems[0]
	}
	return v, nil
}

// maxDepth bounds the nesting of literals.
const maxDepth = 200

// literal turns a pickled value into a literal. One list or dict in two places stays one.
func (u *unpickler) literal(v any) (any, error) {
	if u.depth++; u.depth > maxDepth {
		return nil, fmt.Errorf("got more than %d levels of nesting, want less", maxDepth)
	}
	defer func() { u.depth-- }()
	switch v := v.(type) {
	case nil, bool, int64, float64, complex128, string, program.Device, program.EnumLit,
		*program.State, *program.Object, *program.ListLit, *program.DictLit, *program.Opaque:
		return v, nil
	case pickle.Tuple:
		if len(v) == 0 {
			return &program.TupleLit{}, nil
		}
		if t := u.tuples[&v[0]]; t != nil {
			return t, nil // also keeps tuples of tuples of … from growing without bound
		}
		t := &program.TupleLit{Items: make([]any, len(v))}
		u.tuples[&v[0]] = t
		return t, u.literals(t.Items, v)
	case *pickle.List:
		if l := u.lists[v]; l != nil {
			return l, nil
		}
		l := &program.ListLit{Items: make([]any, len(v.Items))}
		u.lists[v] = l
		return l, u.literals(l.Items, v.Items)
	case *pickle.Dict:
		if l := u.dicts[v]; l != nil {
			return l, nil
		}
		l := &program.DictLit{Keys: make([]any, len(v.Keys)), Values: make([]any, len(v.Values))}
		u.dicts[v] = l
		if err := u.literals(l.Keys, v.Keys); err != nil {
			return nil, err
		}
		return l, u.literals(l.Values, v.Values)
	case quantScheme:
		return int64(v), nil
	}
	return nil, fmt.Errorf("got a value of %T, want a literal", v)
}

func (u *unpickler) literals(to, from []any) error {
	for i, v := range from {
		var err error
		if to[i], err = u.literal(v); err != nil {
			return err
		}
	}
	return nil
}
