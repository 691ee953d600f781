package torchexport

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/pickle"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// TestSavedStorages: what a persistent id says, each word of it.
func TestSavedStorages(t *testing.T) {
	s := savedFile{record: "w.pt"}
	for class, d := range map[string]tensor.DType{
		"FloatStorage": tensor.Float32, "DoubleStorage": tensor.Float64, "HalfStorage": tensor.Float16,
		"BFloat16Storage": tensor.BFloat16,
		"LongStorage":     tensor.Int64, "IntStorage": tensor.Int32, "ShortStorage": tensor.Int16, "CharStorage": tensor.Int8,
		"ByteStorage": tensor.Uint8,
		"BoolStorage": tensor.Bool, "ComplexFloatStorage": tensor.Complex64, "ComplexDoubleStorage": tensor.Complex128,
		"UntypedStorage": tensor.Undefined,
	} {
		v, err := s.storage(pickle.Tuple{"storage", global{"torch", class}, "3", "cpu", int64(5)})
		require.NoError(t, err, class)
		bytes := int64(5)
		if d != tensor.Undefined {
			bytes = 5 * d.ItemSize()
		}
		assert.Equal(t, &savedStorage{record: "w.pt/3", dtype: d, bytes: bytes}, v, class)
	}
	float := global{"torch", "FloatStorage"}
	for _, tt := range []struct {
		why  string
		id   any
		want string // "" of none
	}{
		{"nothing in it", pickle.Tuple{"storage", float, "3", "cpu", int64(0)}, ""},
		{"the most that is read", pickle.Tuple{"storage", float, "3", "cpu", int64(math.MaxInt64 / 16)}, ""},
		{"one more", pickle.Tuple{"storage", float, "3", "cpu", int64(math.MaxInt64/16 + 1)},
			"got a persistent id that is no storage"},
		{"less than none", pickle.Tuple{"storage", float, "3", "cpu", int64(-1)}, "got a persistent id that is no storage"},
		{"a word more than five", pickle.Tuple{"storage", float, "3", "cpu", int64(1), nil}, ""},
		{"four words", pickle.Tuple{"storage", float, "3", "cpu"}, "got a persistent id of pickle.Tuple, want a tuple of 5"},
		{"no tuple", "3", "got a persistent id of string, want a tuple of 5"},
		{"a class that is text", pickle.Tuple{"storage", "FloatStorage", "3", "cpu", int64(1)},
			"got a persistent id that is no storage"},
		{"a key that is a number", pickle.Tuple{"storage", float, int64(3), "cpu", int64(1)},
			"got a persistent id that is no storage"},
		{"a length that is text", pickle.Tuple{"storage", float, "3", "cpu", "1"}, "got a persistent id that is no storage"},
		{"another class", pickle.Tuple{"storage", global{"torch", "WideStorage"}, "3", "cpu", int64(1)},
			"got a persistent id that is no storage"},
	} {
		v, err := s.storage(tt.id)
		if tt.want != "" {
			assert.EqualError(t, err, tt.want, tt.why)
			assert.Nil(t, v, tt.why)
			continue
		}
		assert.NoError(t, err, tt.why)
	}
}

// TestSavedTensors: what torch.save's functions make of their arguments, and what they refuse.
func TestSavedTensors(t *testing.T) {
	st := &savedStorage{record: "w.pt/3", dtype: tensor.Float32, bytes: 40}
	untyped := &savedStorage{record: "w.pt/4", dtype: tensor.Undefined, bytes: 40}
	dims := func(n ...any) pickle.Tuple { return n }
	utils := func(name string) global { return global{"torch._utils", name} }
	float := func(offset int64, sizes, strides []int64) *savedTensor {
		return &savedTensor{storage: "w.pt/3", bytes: 40, meta: tensor.Meta{DType: tensor.Float32, Device: "cpu",
			Sizes: sizes, Strides: strides, StorageOffset: offset}}
	}
	bare := func(d tensor.DType) *savedTensor {
		return &savedTensor{storage: "w.pt/4", bytes: 40, meta: tensor.Meta{DType: d, Device: "cpu", Sizes: []int64{2},
			Strides: []int64{1}}}
	}
	two := float(0, []int64{2}, []int64{1})
	state := &pickle.Dict{Keys: []any{"scale", int64(1), "name", "data"}, Values: []any{two, two, "x", two}}
	wrapped := &savedTensor{inner: []innerTensor{{"scale", two}, {"data", two}}}
	wrapper := utils("_rebuild_wrapper_subclass")
	for _, tt := range []struct {
		why  string
		fn   any
		args []any
		got  any
		want string // of an error
	}{
		{"a tensor", utils("_rebuild_tensor_v2"), []any{st, int64(1), dims(int64(3), int64(3)), dims(int64(3), int64(1)),
			false, nil}, float(1, []int64{3, 3}, []int64{3, 1}), ""},
		{"of the oldest form", utils("_rebuild_tensor"), []any{st, int64(0), dims(int64(2)), dims(int64(1))}, two, ""},
		{"of the latest form, its dtype the storage's", utils("_rebuild_tensor_v3"),
			[]any{st, int64(0), dims(int64(2)), dims(int64(1)), false, nil, global{"torch", "int8"}}, two, ""},
		{"of no dtype", utils("_rebuild_tensor_v3"), []any{untyped, int64(0), dims(int64(2)), dims(int64(1)), false, nil},
			bare(tensor.Uint8), ""},
		{"of a dtype of its own", utils("_rebuild_tensor_v3"), []any{untyped, int64(0), dims(int64(2)), dims(int64(1)), false,
			nil, global{"torch", "float8_e4m3fn"}}, bare(tensor.Float8E4M3FN), ""},
		{"of a dtype that is none", utils("_rebuild_tensor_v3"), []any{untyped, int64(0), dims(int64(2)), dims(int64(1)),
			false, nil, global{"torch", "float33"}}, nil, "float33"},
		{"the last element of its storage", utils("_rebuild_tensor_v2"), []any{st, int64(9), dims(int64(1)), dims(int64(1))},
			float(9, []int64{1}, []int64{1}), ""},
		{"beyond its storage", utils("_rebuild_tensor_v2"), []any{st, int64(10), dims(int64(1)), dims(int64(1))}, nil,
			"got a tensor of 44 bytes in a storage of 40"},
		{"three arguments", utils("_rebuild_tensor_v2"), []any{st, int64(0), dims()}, nil,
			"got 3 arguments for a tensor, want at least 4"},
		{"of no storage", utils("_rebuild_tensor_v2"), []any{"x", int64(0), dims(), dims()}, unread{}, ""},
		{"an offset of text", utils("_rebuild_tensor_v2"), []any{st, "0", dims(), dims()}, nil,
			"got a tensor with other sizes than numbers"},
		{"an offset below none", utils("_rebuild_tensor_v2"), []any{st, int64(-1), dims(), dims()}, nil,
			"got a tensor with other sizes than numbers"},
		{"sizes of text", utils("_rebuild_tensor_v2"), []any{st, int64(0), "x", dims()}, nil,
			"got a tensor with other sizes than numbers"},
		{"a size of text", utils("_rebuild_tensor_v2"), []any{st, int64(0), dims("x"), dims(int64(1))}, nil,
			"got a tensor with other sizes than numbers"},
		{"a size below none", utils("_rebuild_tensor_v2"), []any{st, int64(0), dims(int64(-1)), dims(int64(1))}, nil,
			"got a tensor with other sizes than numbers"},
		{"strides of text", utils("_rebuild_tensor_v2"), []any{st, int64(0), dims(), "x"}, nil,
			"got a tensor with other sizes than numbers"},
		{"a stride below none", utils("_rebuild_tensor_v2"), []any{st, int64(0), dims(int64(1)), dims(int64(-1))}, nil,
			"got a tensor with other sizes than numbers"},
		{"more strides than sizes", utils("_rebuild_tensor_v2"),
			[]any{st, int64(0), dims(int64(1)), dims(int64(1), int64(1))}, nil, "got a tensor with other sizes than numbers"},
		{"sizes without end", utils("_rebuild_tensor_v2"), []any{st, int64(0), dims(int64(1<<40), int64(1<<40)),
			dims(int64(1), int64(1))}, nil, "size overflows int64"},
		{"a parameter", utils("_rebuild_parameter"), []any{two, true, nil}, two, ""},
		{"a parameter with its state", utils("_rebuild_parameter_with_state"), []any{two}, two, ""},
		{"a parameter of nothing", utils("_rebuild_parameter"), nil, unread{}, ""},
		{"a dict", global{"collections", "OrderedDict"}, nil, &pickle.Dict{}, ""},
		{"a subclass", global{"torch._tensor", "_rebuild_from_type_v2"}, []any{wrapper, nil, dims(), state}, wrapped, ""},
		{"a subclass with slots", global{"torch._tensor", "_rebuild_from_type_v2"},
			[]any{wrapper, nil, dims(), dims(state, nil)}, wrapped, ""},
		{"a subclass with an empty state", global{"torch._tensor", "_rebuild_from_type_v2"},
			[]any{wrapper, nil, dims(), dims()}, unread{}, ""},
		{"a subclass of no tensors", global{"torch._tensor", "_rebuild_from_type_v2"},
			[]any{wrapper, nil, dims(), &pickle.Dict{Keys: []any{"a"}, Values: []any{"b"}}}, unread{}, ""},
		{"a tensor with attributes", global{"torch._tensor", "_rebuild_from_type_v2"}, []any{utils("_rebuild_tensor_v2"), nil,
			dims(st, int64(0), dims(int64(2)), dims(int64(1))), state}, two, ""},
		{"a subclass without its state", global{"torch._tensor", "_rebuild_from_type_v2"}, []any{wrapper, nil, dims()},
			unread{}, ""},
		{"anything else", global{"os", "system"}, []any{"true"}, unread{}, ""},
		{"what is no function", "x", nil, unread{}, ""},
	} {
		got, err := (&savedFile{}).reduce(tt.fn, tt.args)
		if tt.want != "" {
			assert.ErrorContains(t, err, tt.want, tt.why)
			assert.Nil(t, got, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.got, got, tt.why)
	}
}

// TestTakeApart: only what reads a tensor out of a subclass becomes that tensor; a subclass that
// another operator takes counts as one more.
func TestTakeApart(t *testing.T) {
	const access = "export::access_subclass_inner_tensor"
	for _, tt := range []struct {
		why, op string
		at      int
		attr    []program.Arg
		want    string // the operator after it
		whole   bool   // the subclass counts
	}{
		{"its scale", access, 0, []program.Arg{{Const: "scale"}}, "aten::alias", false},
		{"an attribute that it has not", access, 0, []program.Arg{{Const: "other"}}, access, true},
		{"an attribute that is a number", access, 0, []program.Arg{{Const: int64(0)}}, access, true},
		{"no attribute", access, 0, nil, access, true},
		{"an attribute and more", access, 0, []program.Arg{{Const: "scale"}, {Const: "scale"}}, access, true},
		{"the subclass behind", access, 1, []program.Arg{{Const: "scale"}}, access, true},
		{"another operator", "aten::mm", 0, []program.Arg{{Const: "scale"}}, "aten::mm", true},
	} {
		weight, scale := &program.State{Name: "w"}, &program.State{Name: "w:scale"}
		l := &lowerer{}
		l.storages, l.byName, l.subclasses = map[string]int{}, map[string]*program.State{},
			map[*program.State][]part{weight: {{"data", &program.State{}}, {"scale", scale}}}
		n := &program.Node{Operation: &program.Operation{Op: tt.op, Meta: &program.NodeMeta{}},
			Args: append([]program.Arg{{Const: weight}}, tt.attr...)}
		if tt.at == 1 {
			n.Args[0], n.Args[1] = n.Args[1], n.Args[0]
		}
		l.takeApart(n)
		assert.Equal(t, tt.want, n.Op, tt.why)
		if tt.whole {
			assert.Equal(t, []*program.State{weight}, l.order, tt.why)
			assert.Empty(t, l.subclasses, tt.why)
			continue
		}
		assert.Equal(t, []program.Arg{{Name: "self", Const: scale}}, n.Args, tt.why)
		assert.Empty(t, l.order, tt.why)
	}
}

// TestDTypeNumbers: torch.export numbers dtypes in its own way (torch/_export/serde/schema.py
// ScalarType).
func TestDTypeNumbers(t *testing.T) {
	want := map[int64]tensor.DType{
		1: tensor.Uint8, 2: tensor.Int8, 3: tensor.Int16, 4: tensor.Int32, 5: tensor.Int64, 6: tensor.Float16,
		7: tensor.Float32, 8: tensor.Float64,
		9: tensor.ComplexHalf, 10: tensor.Complex64, 11: tensor.Complex128, 12: tensor.Bool, 13: tensor.BFloat16,
		28: tensor.Uint16,
		29: tensor.Float8E4M3FN, 30: tensor.Float8E5M2, 31: tensor.Float8E4M3UZ, 32: tensor.Float8E5M2UZ,
		33: tensor.Float8E8M0FNU,
		34: tensor.Uint32, 35: tensor.Uint64,
	}
	for n := int64(-1); n <= 40; n++ {
		d, err := dtypeOf(n)
		if w, ok := want[n]; ok {
			require.NoError(t, err)
			assert.Equal(t, w, d, n)
			continue
		}
		assert.ErrorContains(t, err, "want one of torch.export's")
		assert.Equal(t, tensor.Undefined, d)
	}
}

// TestUnwrap: a subclass is the tensors that it is made of, however deep, each once, under its name
// and their attributes.
func TestUnwrap(t *testing.T) {
	leaf := func(storage string) *savedTensor { return &savedTensor{storage: storage, bytes: 8} }
	inside := &savedTensor{inner: []innerTensor{{"a", leaf("0")}, {"b", leaf("1")}}}
	whole := &savedTensor{inner: []innerTensor{{"x", inside}, {"y", leaf("2")}, {"z", inside}, {"y", leaf("2")},
		{"w", leaf("0")}}}
	l := &states{byName: map[string]*program.State{}, storages: map[string]int{}}
	var got []string
	for _, p := range l.unwrap("m.weight", whole, tensor.Parameter, "r") {
		got = append(got, fmt.Sprint(p.attr, " ", p.state.Name, " ", p.state.Storage, " ", p.state.NBytes))
	}
	assert.Equal(t, []string{"x.a m.weight:x.a 0 8", "x.b m.weight:x.b 1 8", "y m.weight:y 2 8", "z.a m.weight:z.a 0 8",
		"z.b m.weight:z.b 1 8", "w m.weight:w 0 8"}, got)
	assert.Len(t, l.order, 6)
	assert.Len(t, l.byName, 6)
}

// TestConfigs: weights and constants are reported each by a separate file, either of which may be
// missing; what is wrong in one is reported by its name.
func TestConfigs(t *testing.T) {
	config := func(name, record string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{"other": 3, "config": {"` + name + `": {"path_name": "` + record +
			`", "use_pickle": true}}}`)}
	}
	record := &fstest.MapFile{Data: []byte("12345678")}
	const weights, constants = "data/weights/m_weights_config.json", "data/constants/m_constants_config.json"
	for _, tt := range []struct {
		why   string
		files fstest.MapFS
		want  string
		err   string
	}{
		{"both", fstest.MapFS{weights: config("w", "0"), constants: config("c", "1"), "data/weights/0": record,
			"data/constants/1": record}, "w data/weights/0 8, c data/constants/1 8", ""},
		{"weights alone", fstest.MapFS{weights: config("w", "0"), "data/weights/0": record}, "w data/weights/0 8", ""},
		{"constants alone", fstest.MapFS{constants: config("c", "1"), "data/constants/1": record}, "c data/constants/1 8",
			""},
		{"neither", fstest.MapFS{"data/weights/0": record}, "", ""},
		{"without its record", fstest.MapFS{constants: config("c", "1")}, "",
			constants + ": got no record data/constants/1, want that of c"},
		{"no JSON", fstest.MapFS{weights: {Data: []byte("[")}}, "", weights + ": "},
		{"something behind it", fstest.MapFS{weights: {Data: []byte("{} x")}}, "", weights + ": "},
	} {
		a, ps := &archive{fs: tt.files}, &payloads{byName: map[string]*payload{}}
		err := a.configs(ps, "m")
		if tt.err != "" {
			assert.ErrorContains(t, err, tt.err, tt.why)
			_, err = a.weights("models/m.json")
			assert.ErrorContains(t, err, tt.err, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		var got []string
		for _, p := range ps.list {
			got = append(got, fmt.Sprint(p.name, " ", p.record, " ", p.bytes))
			assert.True(t, p.pickled)
		}
		assert.Equal(t, tt.want, strings.Join(got, ", "), tt.why)
	}
}
