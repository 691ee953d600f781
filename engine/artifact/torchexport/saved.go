package torchexport

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"github.com/memspec/memspec/engine/internal/pickle"
	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// A file of torch.save within the archive: all weights of a program through torch 2.8, and since
// 2.9 a weight that is a tensor subclass, such as torchao's quantised ones. It is read for which
// storage each tensor lies in, and for the tensors that a subclass is made of; nothing of it is
// executed.

// savedTensor is a tensor of such a file.
type savedTensor struct {
	meta    tensor.Meta
	storage string // its record
	bytes   int64  // of the storage
	inner   []innerTensor
}

// innerTensor is a tensor that a subclass is made of.
type innerTensor struct {
	attr string
	*savedTensor
}

// savedStorage is a persistent id.
type savedStorage struct {
	record string
	dtype  tensor.DType // Undefined of one without
	bytes  int64
}

// global is a name of a module of Python.
type global struct{ module, name string }

// unread is an object that is no tensor.
type unread struct{}

// dtypesOfStorages are the classes that torch.save names.
var dtypesOfStorages = map[string]tensor.DType{
	"FloatStorage": tensor.Float32, "DoubleStorage": tensor.Float64, "HalfStorage": tensor.Float16,
	"BFloat16Storage": tensor.BFloat16, "LongStorage": tensor.Int64,
	"IntStorage": tensor.Int32, "ShortStorage": tensor.Int16, "CharStorage": tensor.Int8, "ByteStorage": tensor.Uint8,
	"BoolStorage":         tensor.Bool,
	"ComplexFloatStorage": tensor.Complex64, "ComplexDoubleStorage": tensor.Complex128,
	"UntypedStorage": tensor.Undefined,
}

// readSaved reads what a record of torch.save holds; nil where it was stripped to nothing, or is of
// another form.
func readSaved(f fs.FS, record string) (any, error) {
	file, err := f.Open(record)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	at, ok := file.(io.ReaderAt)
	if err != nil || !ok {
		return nil, err
	}
	var magic [4]byte
	if _, err := at.ReadAt(magic[:], 0); err != nil || string(magic[:]) != "PK\x03\x04" {
		return nil, nil //nolint:nilerr // empty, or too short for an archive
	}
	z, err := ptzip.Open(at, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", record, err)
	}
	data, err := z.ReadFile("data.pkl")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", record, err)
	}
	s := savedFile{record: record}
	v, err := pickle.Decode(data, pickle.Options{
		MaxSteps: 1 << 22, MaxMemo: 1 << 20, MaxBytes: 64 << 20, // a hundred thousand tensors take less

		Globals: func(module, name string) (any, bool) { return global{module, name}, true },
		Reduce:  s.reduce,
		Build:   func(obj, _ any) (any, error) { return obj, nil },
		NewObj:  func(any, []any) (any, error) { return unread{}, nil },

		PersistentLoad: s.storage,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: data.pkl: %w", record, err)
	}
	return v, nil
}

type savedFile struct{ record string }

// storage reads ("storage", class, key, device, elements).
func (s *savedFile) storage(id any) (any, error) {
	t, ok := id.(pickle.Tuple)
	if !ok || len(t) < 5 {
		return nil, fmt.Errorf("got a persistent id of %T, want a tuple of 5", id)
	}
	class, ok1 := t[1].(global)
	key, ok2 := t[2].(string)
	n, ok3 := t[4].(int64)
	d, known := dtypesOfStorages[class.name]
	if !ok1 || !ok2 || !ok3 || !known || n < 0 || n > math.MaxInt64/16 {
		return nil, errors.New("got a persistent id that is no storage")
	}
	item := int64(1)
	if d != tensor.Undefined {
		item = d.ItemSize()
	}
	return &savedStorage{record: s.record + "/" + key, dtype: d, bytes: n * item}, nil
}

// reduce makes tensors and dicts; all else is nothing that takes memory of a device.
func (s *savedFile) reduce(fn any, args []any) (any, error) {
	g, _ := fn.(global)
	switch g {
	case global{"collections", "OrderedDict"}:
		return &pickle.Dict{}, nil
	case global{"torch._utils", "_rebuild_tensor"}, global{"torch._utils", "_rebuild_tensor_v2"},
		global{"torch._utils", "_rebuild_tensor_v3"}:
		return rebuilt(args)
	case global{"torch._utils", "_rebuild_parameter"}, global{"torch._utils", "_rebuild_parameter_with_state"}:
		if len(args) > 0 {
			return args[0], nil
		}
	case global{"torch._tensor", "_rebuild_from_type_v2"}: // (function, class, arguments, state)
		if len(args) < 4 {
			break
		}
		inner, _ := args[2].(pickle.Tuple)
		if args[0] != any(global{"torch._utils", "_rebuild_wrapper_subclass"}) {
			return s.reduce(args[0], inner)
		}
		return subclass(args[3]), nil
	}
	return unread{}, nil
}

// rebuilt is _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks), and v3 with
// the dtype behind.
func rebuilt(args []any) (any, error) {
	if len(args) < 4 {
		return nil, fmt.Errorf("got %d arguments for a tensor, want at least 4", len(args))
	}
	st, ok := args[0].(*savedStorage)
	if !ok {
		return unread{}, nil
	}
	t := &savedTensor{storage: st.record, bytes: st.bytes, meta: tensor.Meta{DType: st.dtype, Device: "cpu"}}
	if st.dtype == tensor.Undefined {
		t.meta.DType = tensor.Uint8
		if len(args) > 6 {
			g, _ := args[6].(global)
			d, err := tensor.ParseDType(g.name)
			if err != nil {
				return nil, err
			}
			t.meta.DType = d
		}
	}
	var ok1, ok2, ok3 bool
	t.meta.StorageOffset, ok1 = args[1].(int64)
	t.meta.Sizes, ok2 = numbers(args[2])
	t.meta.Strides, ok3 = numbers(args[3])
	if !ok1 || !ok2 || !ok3 || t.meta.StorageOffset < 0 || len(t.meta.Sizes) != len(t.meta.Strides) {
		return nil, errors.New("got a tensor with other sizes than numbers")
	}
	if err := t.meta.Check(); err != nil {
		return nil, err
	}
	if need := int64(t.meta.StorageBytes()); need > t.bytes {
		return nil, fmt.Errorf("got a tensor of %d bytes in a storage of %d", need, t.bytes)
	}
	return t, nil
}

func numbers(v any) ([]int64, bool) {
	t, ok := v.(pickle.Tuple)
	if !ok {
		return nil, false
	}
	out := make([]int64, len(t))
	for i := range t {
		if out[i], ok = t[i].(int64); !ok || out[i] < 0 {
			return nil, false
		}
	}
	return out, true
}

// subclass is a tensor that holds others in its attributes.
func subclass(state any) any {
	if t, ok := state.(pickle.Tuple); ok && len(t) > 0 { // __dict__ and __slots__
		state = t[0]
	}
	d, ok := state.(*pickle.Dict)
	if !ok {
		return unread{}
	}
	out := &savedTensor{}
	for i, k := range d.Keys {
		name, ok1 := k.(string)
		if t, ok2 := d.Values[i].(*savedTensor); ok1 && ok2 {
			out.inner = append(out.inner, innerTensor{name, t})
		}
	}
	if len(out.inner) == 0 {
		return unread{}
	}
	return out
}

// saved puts what files of torch.save say of weights into the payloads.
func (a *archive) saved(ps *payloads, all []string) error {
	for i := range ps.list {
		p := &ps.list[i]
		if !p.pickled {
			continue
		}
		v, err := readSaved(a.fs, p.record)
		if err != nil {
			return err
		}
		p.saved, _ = v.(*savedTensor)
	}
	for _, record := range all {
		if !exists(a.fs, record) {
			continue
		}
		v, err := readSaved(a.fs, record)
		if err != nil {
			return err
		}
		d, _ := v.(*pickle.Dict)
		if d == nil {
			continue
		}
		for i, k := range d.Keys {
			name, ok := k.(string)
			if t, isTensor := d.Values[i].(*savedTensor); ok && isTensor {
				ps.list = append(ps.list, payload{name: name, record: record, saved: t})
			}
		}
	}
	return nil
}

// part is a tensor that a weight of a subclass is made of.
type part struct {
	attr  string
	state *program.State
}

// unwrap makes states of them, and of those that they are made of.
func (l *states) unwrap(name string, t *savedTensor, class tensor.Category, record string) []part {
	var out []part
	var add func(prefix string, t *savedTensor)
	add = func(prefix string, t *savedTensor) {
		for _, in := range t.inner {
			if in.inner != nil {
				add(prefix+in.attr+".", in.savedTensor)
				continue
			}
			if l.byName[name+":"+prefix+in.attr] != nil { // a name that is written twice
				continue
			}
			st := &program.State{Name: name + ":" + prefix + in.attr, Class: class, Meta: in.meta, NBytes: in.bytes,
				Record: record, Storage: l.storageNumber(in.storage)}
			l.byName[st.Name] = st
			l.order = append(l.order, st)
			out = append(out, part{prefix + in.attr, st})
		}
	}
	add("", t)
	return out
}

// takeApart makes what reads a tensor out of a subclass an alias of that tensor; a subclass that
// another operator takes is one more tensor.
func (l *lowerer) takeApart(n *program.Node) {
	for i := range n.Args {
		st, _ := n.Args[i].Const.(*program.State)
		parts := l.subclasses[st]
		if parts == nil {
			continue
		}
		if n.Op == "export::access_subclass_inner_tensor" && i == 0 && len(n.Args) == 2 {
			attr, _ := n.Args[1].Const.(string)
			if at := slices.IndexFunc(parts, func(p part) bool { return p.attr == attr }); at >= 0 {
				n.Op, n.Meta.Key, n.Args = "aten::alias", "aten::alias",
					[]program.Arg{{Name: "self", Const: parts[at].state}}
				return
			}
		}
		delete(l.subclasses, st)
		l.keep(st, "of "+st.Name)
	}
}
