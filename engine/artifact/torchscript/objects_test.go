package torchscript

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/pickle"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// aDecoder has read the source src beside an empty model.
func aDecoder(t *testing.T, src string) *decoder {
	t.Helper()
	d := &decoder{prog: &program.Program{}, types: map[string]*program.Type{}, classes: map[string]*program.Class{}}
	for i := range d.plain {
		d.plain[i].Kind = program.TypeKind(i)
	}
	if src != "" {
		p, err := Decode(archive(src + "class M(Module):\n  pass\n"))
		require.NoError(t, err)
		for _, c := range p.Classes {
			d.classes[c.Name] = c
		}
	}
	return d
}

func anUnpickler(d *decoder) *unpickler {
	return &unpickler{d: d, lists: map[*pickle.List]*program.ListLit{}, dicts: map[*pickle.Dict]*program.DictLit{},
		tuples: map[*any]*program.TupleLit{}, records: map[string]int{}}
}

// TestTypes reads every type that PyTorch's printer writes, and those that older ones wrote.
func TestTypes(t *testing.T) {
	d := aDecoder(t, "class C(Module):\n  pass\n")
	for text, want := range map[string]string{
		"Tensor": "Tensor", "int": "int", "float": "float", "complex": "complex", "bool": "bool", "str": "str",
		"None": "NoneType", "NoneType": "NoneType",
		"number": "number", "Scalar": "number", "Device": "Device", "Generator": "Generator", "Stream": "Stream",
		"Any":  "Any",
		"list": "List", "List": "List", "tuple": "Tuple[()]", "Tuple": "Tuple[()]", "dict": "Dict", "Dict": "Dict",
		"List[int]": "List[int]", "Optional[Tensor]": "Optional[Tensor]", "Dict[str, List[float]]": "Dict[str, List[float]]",
		"Tuple[int, str]":           "Tuple[int, str]",
		"Union[int, str, NoneType]": "Union[int, str, NoneType]", "Future[Tensor]": "Future[Tensor]",
		"Await[int]": "Future[int]", "Final[int]": "int",
		"RRef[Tensor]": "RRef[Tensor]", "__torch__.C": "__torch__.C",
		"__torch__.torch.classes.q.P": "__torch__.torch.classes.q.P",
	} {
		got, err := d.typeText(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got.String(), text)
		assert.Equal(t, strings.HasPrefix(text, "__torch__.") || text == "RRef[Tensor]", got.Kind == program.ClassType,
			"%s: what is no class is of a kind", text)
		again, err := d.typeText(text)
		require.NoError(t, err, text)
		assert.Same(t, got, again, "%s: equal texts are one type", text)
	}
	for _, text := range []string{"List[int, int]", "Dict[str]", "Optional[int, str]", "Future[int, int]", "Thing[int]",
		"3", "a.b[int]", "List[3]"} {
		_, err := d.typeText(text)
		assert.ErrorContains(t, err, "want a type", text)
	}
	for _, text := range []string{"a..b", ".a", "a.", "3a", "a.3", ""} {
		assert.False(t, isDotted(text), text)
	}
	assert.True(t, isDotted("__torch__.a1._B.Z"))
	class, err := d.typeText("__torch__.C")
	require.NoError(t, err)
	assert.Equal(t, program.ClassType, class.Kind)
	future, err := d.typeText("Future[int]")
	require.NoError(t, err)
	assert.Equal(t, program.FutureType, future.Kind)
}

// TestPickledCalls: what data.pkl calls, with arguments that are right and those that no archive
// has.
func TestPickledCalls(t *testing.T) {
	st := &storage{dtype: storageType(tensor.Float32), device: "cpu", nbytes: 24, record: "data/0"}
	dims := func(n ...int64) pickle.Tuple {
		out := make(pickle.Tuple, len(n))
		for i := range n {
			out[i] = n[i]
		}
		return out
	}
	whole := []any{st, int64(0), dims(2, 3), dims(3, 1), true}
	with := func(i int, v any) []any {
		out := append([]any(nil), whole...)
		out[i] = v
		return out
	}
	for _, tt := range []struct {
		why  string
		fn   builder
		args []any
		want string // of an error; "" for none
	}{
		{"a tensor", rebuildTensor, whole, ""},
		{"too few arguments", rebuildTensor, whole[:4], "got 4 arguments for a tensor, want 5"},
		{"a quantised one has one more", rebuildQuantized, whole, "got 5 arguments for a tensor, want 6"},
		{"of no storage", rebuildTensor, with(0, "s"), "got a tensor of string, want a storage"},
		{"an offset below nothing", rebuildTensor, with(1, int64(-1)), "got -1 as a storage offset"},
		{"an offset that is no number", rebuildTensor, with(1, "0"), "as a storage offset"},
		{"sizes that are none", rebuildTensor, with(2, "s"), "got"},
		{"a size below nothing", rebuildTensor, with(2, dims(2, -1)), "got -1 as a size, want an integer"},
		{"a size of text", rebuildTensor, with(2, pickle.Tuple{int64(2), "x"}), "got x as a size, want an integer"},
		{"a stride of a float", rebuildTensor, with(3, pickle.Tuple{int64(2), 1.0}), "got 1 as a size, want an integer"},
		{"strides that are none", rebuildTensor, with(3, "s"), "got"},
		{"strides of another number of dimensions", rebuildTensor, with(3, dims(1)), "data/0: tensor of [2 3]"},
		{"larger than its storage", rebuildTensor, with(1, int64(1)), "data/0: got a tensor of 28 bytes in a storage of 24"},
		{"a parameter of no tensor", rebuildParameter, []any{"x"}, "got string as a parameter, want a tensor"},
		{"a parameter of nothing", rebuildParameter, nil, "as a parameter, want a tensor"},
		{"a subclass without its arguments", rebuildFromType, []any{rebuildTensor}, "got 1 arguments for a tensor of a " +
			"subclass, want 4"},
		{"a subclass of what is no tuple", rebuildFromType, []any{rebuildTensor, "t", "x", nil},
			"got string as a tensor's arguments, want a tuple"},
		{"a subclass", rebuildFromType, []any{rebuildTensor, "t", pickle.Tuple(whole), nil}, ""},
		{"a tag without a type", restoreTypeTag, []any{nil}, "got no type in restore_type_tag"},
		{"a tag that is no text", restoreTypeTag, []any{nil, int64(1)}, "got no type in restore_type_tag"},
		{"a tag that is no type", restoreTypeTag, []any{&pickle.List{}, "3"}, "want a type"},
		{"a tag", restoreTypeTag, []any{&pickle.List{}, "List[int]"}, ""},
		{"a device without a name", makeDevice, nil, "got a device without a name"},
		{"a device", makeDevice, []any{"cuda", int64(1)}, ""},
		{"a complex number of one part", makeComplex, []any{1.5}, "without two parts"},
		{"a complex number of text", makeComplex, []any{1.5, "x"}, "without two parts"},
		{"a complex number", makeComplex, []any{1.5, 2.5}, ""},
		{"a meta tensor without strides", rebuildMeta, []any{int64(6), dims(2)}, "got 2 arguments for a meta tensor, want 4"},
		{"a meta tensor of no dtype", rebuildMeta, []any{int64(255), dims(2), dims(1), false}, "got 255 as a dtype"},
		{"a meta tensor", rebuildMeta, []any{int64(6), dims(2), dims(1), false}, ""},
		{"an ordered dict", orderedDict, nil, ""},
		{"a sparse tensor", rebuildSparse, []any{int64(1)}, ""},
		{"a sparse tensor of what is no literal", rebuildSparse, []any{struct{}{}}, "want a literal"},
		{"a tensor from a table", fromTable, []any{int64(0)}, "got a tensor from a table that data.pkl does not have"},
		{"a class where a call is", tensorClass, nil, "got a tensor from a table that data.pkl does not have"},
	} {
		v, err := anUnpickler(aDecoder(t, "")).call(tt.fn, tt.args)
		if tt.want != "" {
			assert.ErrorContains(t, err, tt.want, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.NotNil(t, v, tt.why)
	}

	v, err := anUnpickler(aDecoder(t, "")).call(makeDevice, []any{"cuda", int64(1)})
	require.NoError(t, err)
	assert.Equal(t, program.Device("cuda:1"), v)
	v, err = anUnpickler(aDecoder(t, "")).call(makeDevice, []any{"cpu"})
	require.NoError(t, err)
	assert.Equal(t, program.Device("cpu"), v)
	v, err = anUnpickler(aDecoder(t, "")).call(rebuildTensor, whole)
	require.NoError(t, err)
	s := v.(*program.State)
	assert.Equal(t, tensor.Meta{DType: tensor.Float32, Sizes: []int64{2, 3}, Strides: []int64{3, 1}, Device: "cpu",
		RequiresGrad: true}, s.Meta)
	assert.Equal(t, int64(24), s.NBytes)
	v, err = anUnpickler(aDecoder(t, "")).call(rebuildParameter, []any{s, true})
	require.NoError(t, err)
	assert.Equal(t, tensor.Parameter, v.(*program.State).Class)
	v, err = anUnpickler(aDecoder(t, "")).call(restoreTypeTag, []any{&pickle.List{Items: []any{int64(1)}}, "List[int]"})
	require.NoError(t, err)
	assert.Equal(t, "int", v.(*program.ListLit).Elem.String())
}

// TestGlobals: what a pickle may name, and nothing else.
func TestGlobals(t *testing.T) {
	u := anUnpickler(aDecoder(t, "class C(Module):\n  pass\n"))
	for name, want := range map[string]any{
		"torch._utils._rebuild_tensor_v2": rebuildTensor, "torch._utils._rebuild_parameter": rebuildParameter,
		"torch._utils._rebuild_qtensor":       rebuildQuantized,
		"torch._utils._rebuild_sparse_tensor": rebuildSparse, "torch._utils._rebuild_meta_tensor_no_storage": rebuildMeta,
		"torch._tensor._rebuild_from_type_v2": rebuildFromType,
		"torch.jit._pickle.restore_type_tag":  restoreTypeTag, "torch.jit._pickle.build_intlist": listOf(program.IntType),
		"torch.jit._pickle.build_doublelist":     listOf(program.FloatType),
		"torch.jit._pickle.build_complexlist":    listOf(program.ComplexType),
		"torch.jit._pickle.build_boollist":       listOf(program.BoolType),
		"torch.jit._pickle.build_tensorlist":     listOf(program.TensorType),
		"torch.jit._pickle.build_tensor_from_id": fromTable,
		"collections.OrderedDict":                orderedDict, "builtins.complex": makeComplex,
		"__builtin__.complex": makeComplex,
		"torch.device":        makeDevice, "torch.Tensor": tensorClass,
		"torch.FloatStorage": storageTypes["FloatStorage"], "torch.storage.UntypedStorage": storageTypes["UntypedStorage"],
		"torch.per_tensor_affine":     quantSchemes["per_tensor_affine"],
		"__torch__.C":                 classRef("__torch__.C"),
		"__torch__.torch.classes.q.P": classRef("__torch__.torch.classes.q.P"),
	} {
		at := strings.LastIndexByte(name, '.')
		got, ok := u.global(name[:at], name[at+1:])
		assert.True(t, ok, name)
		assert.Equal(t, want, got, name)
	}
	for _, name := range []string{"torch._utils._rebuild_other", "torch._tensor._rebuild", "torch.jit._pickle.build",
		"collections.Counter", "builtins.eval", "__builtin__.eval", "torch.load", "torch.storage.x", "os.system",
		"__torch__.D"} {
		at := strings.LastIndexByte(name, '.')
		_, ok := u.global(name[:at], name[at+1:])
		assert.False(t, ok, name)
	}
}

// TestObjectsAndLists: what a pickle makes of a class, a list with its type, and a member of an
// enumeration.
func TestObjectsAndLists(t *testing.T) {
	d := aDecoder(t, "class C(Module):\n  pass\nclass P(NamedTuple):\n  a : int\nclass E(Enum):\n  A = 1\n  B = 2\n")
	u := anUnpickler(d)
	for _, tt := range []struct {
		why  string
		cls  any
		want string
	}{
		{"a module", classRef("__torch__.C"), ""},
		{"a class of C++", classRef(customClasses + "q.P"), ""},
		{"a named tuple", classRef("__torch__.P"), "got an object of __torch__.P, want a module or a plain class"},
		{"an enumeration", classRef("__torch__.E"), "got an object of __torch__.E, want a module or a plain class"},
		{"a function", rebuildTensor, "got an object of 0, want a class"},
	} {
		v, err := u.newObject(tt.cls, nil)
		if tt.want != "" {
			assert.EqualError(t, err, tt.want, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.NotNil(t, v, tt.why)
	}
	for _, tt := range []struct {
		why  string
		fn   any
		args []any
		want string
	}{
		{"a list", listOf(program.BoolType), []any{&pickle.List{}}, ""},
		{"a list of nothing", listOf(program.BoolType), nil, "got 0 arguments for a list, want 1"},
		{"a list of two", listOf(program.BoolType), []any{&pickle.List{}, &pickle.List{}},
			"got 2 arguments for a list, want 1"},
		{"a list of what is no literal", listOf(program.BoolType), []any{struct{}{}}, "got a value of struct {}, want a " +
			"literal"},
		{"a member", classRef("__torch__.E"), []any{int64(2)}, ""},
		{"no member", classRef("__torch__.E"), []any{int64(3)}, "got 3, want a value of __torch__.E"},
		{"a member of two values", classRef("__torch__.E"), []any{int64(1), int64(2)}, "got a call of __torch__.E, want an " +
			"object"},
		{"a call of a module", classRef("__torch__.C"), []any{int64(1)}, "got a call of __torch__.C, want an object"},
		{"a call of a class that is not there", classRef("__torch__.D"), []any{int64(1)},
			"got a call of __torch__.D, want an object"},
		{"a call of a number", int64(1), nil, "got a call of int64, want a function"},
	} {
		v, err := u.reduce(tt.fn, tt.args)
		if tt.want != "" {
			assert.EqualError(t, err, tt.want, tt.why)
			assert.Nil(t, v, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		switch v := v.(type) {
		case *program.ListLit:
			assert.Equal(t, "bool", v.Elem.String(), tt.why)
		case program.EnumLit:
			assert.Equal(t, program.EnumLit{Class: d.classes["__torch__.E"], Name: "B", Value: int64(2)}, v, tt.why)
		}
	}
	v, err := u.literal(quantSchemes["per_tensor_affine"])
	require.NoError(t, err)
	assert.Equal(t, int64(quantSchemes["per_tensor_affine"]), v)
}

// TestCategories: what a tensor is follows from its class's lists; releases up to 1.4 wrote none of
// buffers.
func TestCategories(t *testing.T) {
	named := &program.Class{Kind: program.ModuleClass, Parameters: []string{"w"}, Buffers: []string{"b"}}
	old := &program.Class{Kind: program.ModuleClass, Parameters: []string{"w"}}
	plain := &program.Class{Kind: program.PlainClass, Parameters: []string{"w"}, Buffers: []string{"b"}}
	for _, tt := range []struct {
		why   string
		was   tensor.Category
		class *program.Class
		attr  string
		want  tensor.Category
	}{
		{"a parameter", tensor.Activation, named, "w", tensor.Parameter},
		{"a buffer", tensor.Activation, named, "b", tensor.Buffer},
		{"neither", tensor.Activation, named, "c", tensor.Activation},
		{"a parameter without a list of buffers", tensor.Activation, old, "w", tensor.Parameter},
		{"another without a list of buffers", tensor.Activation, old, "c", tensor.Buffer},
		{"of a class that is no module", tensor.Activation, plain, "w", tensor.Activation},
		{"what is known keeps its class", tensor.Constant, named, "w", tensor.Constant},
	} {
		s := &program.State{Class: tt.was}
		(&walker{}).category(s, tt.class, tt.attr)
		assert.Equal(t, tt.want, s.Class, tt.why)
	}
}

// TestLiteralsAreShared: one list, dict or tuple in two places stays one, and nesting ends.
func TestLiteralsAreShared(t *testing.T) {
	u := anUnpickler(aDecoder(t, ""))
	list, tuple := &pickle.List{Items: []any{int64(1)}}, pickle.Tuple{int64(2)}
	dict := &pickle.Dict{Keys: []any{"k"}, Values: []any{list}}
	v, err := u.literal(pickle.Tuple{list, list, dict, dict, tuple, tuple, pickle.Tuple{}})
	require.NoError(t, err)
	items := v.(*program.TupleLit).Items
	assert.Same(t, items[0], items[1])
	assert.Same(t, items[2], items[3])
	assert.Same(t, items[4], items[5])
	assert.Same(t, items[0], items[2].(*program.DictLit).Values[0])
	assert.Equal(t, []any{"k"}, items[2].(*program.DictLit).Keys)
	assert.Equal(t, &program.TupleLit{}, items[6])
	_, err = u.literal(&pickle.List{Items: []any{struct{}{}}})
	assert.ErrorContains(t, err, "got a value of struct {}, want a literal")

	nested := func(depth int) error {
		var v any = int64(1)
		for range depth {
			v = &pickle.List{Items: []any{v}}
		}
		_, err := anUnpickler(aDecoder(t, "")).literal(v)
		return err
	}
	assert.NoError(t, nested(maxDepth-1))
	assert.ErrorContains(t, nested(maxDepth), "levels of nesting")
}

// TestConstantsAreShared: classes share what nothing changes, where its text is the same; a list is
// each one's own.
func TestConstantsAreShared(t *testing.T) {
	const class = "(Module):\n  a : Final[Tuple[int, int]] = (3, 3)\n  b : Final[List[int]] = [3, 3]\n  c : " +
		"Final[Tuple[List[int]]] = ([3],)\n  d : Final[str] = \"(3, 3)\"\n"
	p, err := Decode(archive("class M" + class + "class N" + class))
	require.NoError(t, err)
	m, n := p.Classes[0].Attrs, p.Classes[1].Attrs
	assert.Same(t, m[0].Default, n[0].Default)
	assert.Equal(t, m[1].Default, n[1].Default)
	assert.NotSame(t, m[1].Default, n[1].Default)
	assert.NotSame(t, m[2].Default, n[2].Default)
	assert.Equal(t, "(3, 3)", n[3].Default)
}

// TestStates: what an object's state may be.
func TestStates(t *testing.T) {
	p,
		err := Decode(archive("class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  a : int\n  b : Final[int] = " +
		"7\n"))
	require.NoError(t, err)
	c := p.Root.Class
	u := anUnpickler(aDecoder(t, ""))
	for _, tt := range []struct {
		obj, state any
		want       string
	}{
		{&program.Object{Class: c}, &pickle.Dict{Keys: []any{"a"}, Values: []any{int64(3)}}, ""},
		{&program.Object{Class: c}, &pickle.Dict{Keys: []any{"z"}, Values: []any{int64(3)}},
			"got attribute z of __torch__.M, which its class does not declare"},
		{&program.Object{Class: c}, &pickle.Dict{Keys: []any{"a"}, Values: []any{struct{}{}}},
			"__torch__.M.a: got a value of struct {}"},
		{&program.Object{Class: c}, "x", "got string as the state of __torch__.M, want a dict"},
		{"x", &pickle.Dict{}, "got a state for string, want one for an object"},
		{&program.Opaque{Class: "torch.C"}, int64(1), ""},
		{&program.Opaque{Class: "torch.C"}, struct{}{}, "want a literal"},
	} {
		_, err := u.build(tt.obj, tt.state)
		if tt.want == "" {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, tt.want)
	}
	o := &program.Object{Class: c}
	_, err = u.build(o, &pickle.Dict{Keys: []any{"a"}, Values: []any{int64(3)}})
	require.NoError(t, err)
	assert.Equal(t, []any{int64(3), int64(7)}, o.Attrs, "what the state does not say is the class's")

	p, err = Decode(archive("class M(Module):\n  a : int\n  def __setstate__(self: __torch__.M,\n    s: int) -> " +
		"NoneType:\n    return None\n"))
	require.NoError(t, err)
	o = &program.Object{Class: p.Root.Class}
	_, err = u.build(o, pickle.Tuple{int64(3)})
	require.NoError(t, err)
	assert.Equal(t, &program.Object{Class: o.Class, Attrs: []any{nil}, State: &program.TupleLit{Items: []any{int64(3)}},
		HasState: true}, o, "__setstate__ is called with the state as it is")
	_, err = u.build(o, struct{}{})
	assert.ErrorContains(t, err, "got a value of struct {}")
}

// TestLateConstants: a constant may be of a class that is defined after it.
func TestLateConstants(t *testing.T) {
	p,
		err := Decode(archive("class M(Module):\n  p : Final[__torch__.P] = __torch__.P(1, 2)\n  n : Final[int] = 7\nclass " +
		"P(NamedTuple):\n  a : int\n  b : int\n"))
	require.NoError(t, err)
	for _, a := range p.Root.Class.Attrs {
		assert.NotNil(t, a.Default, a.Name)
	}
	require.Len(t, p.Root.Class.Attrs, 2)
}
