package torchscript

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"github.com/memspec/memspec/engine/internal/pickle"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// This file turns the descriptions of tensors into states.

// storageType is a typed storage's element type; untyped storages count bytes.
type storageType tensor.DType

const untyped = storageType(tensor.Undefined)

// storageTypes are the storage classes of torch (AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS,
// c10/core/ScalarType.h).
var storageTypes = map[string]storageType{
	"ByteStorage": storageType(tensor.Uint8), "CharStorage": storageType(tensor.Int8),
	"ShortStorage": storageType(tensor.Int16),
	"IntStorage":   storageType(tensor.Int32), "LongStorage": storageType(tensor.Int64),
	"HalfStorage":  storageType(tensor.Float16),
	"FloatStorage": storageType(tensor.Float32), "DoubleStorage": storageType(tensor.Float64),
	"BoolStorage":     storageType(tensor.Bool),
	"BFloat16Storage": storageType(tensor.BFloat16), "ComplexHalfStorage": storageType(tensor.ComplexHalf),
	"ComplexFloatStorage": storageType(tensor.Complex64), "ComplexDoubleStorage": storageType(tensor.Complex128),
	"QInt8Storage": storageType(tensor.QInt8), "QUInt8Storage": storageType(tensor.QUint8),
	"QInt32Storage":   storageType(tensor.QInt32),
	"QUInt4x2Storage": storageType(tensor.QUint4x2), "QUInt2x4Storage": storageType(tensor.QUint2x4),
	"UInt16Storage": storageType(tensor.Uint16), "UInt32Storage": storageType(tensor.Uint32),
	"UInt64Storage":      storageType(tensor.Uint64),
	"Float8_e5m2Storage": storageType(tensor.Float8E5M2), "Float8_e4m3fnStorage": storageType(tensor.Float8E4M3FN),
	"Float8_e5m2fnuzStorage": storageType(tensor.Float8E5M2UZ),
	"Float8_e4m3fnuzStorage": storageType(tensor.Float8E4M3UZ),
	"Float8_e8m0fnuStorage":  storageType(tensor.Float8E8M0FNU),
	"UntypedStorage":         untyped,
}

// quantScheme is a c10::QScheme, numbered as in c10/core/QScheme.h.
type quantScheme int64

var quantSchemes = map[string]quantScheme{
	"per_tensor_affine": 0, "per_channel_affine": 1, "per_tensor_symmetric": 2, "per_channel_symmetric": 3,
	"per_channel_affine_float_qparams": 4,
}

// storage is one record of elements.
type storage struct {
	number int
	record string
	dtype  storageType
	device string
	nbytes int64
}

// storage reads a persistent id: ("storage", type, key, device, elements).
func (u *unpickler) storage(id any) (any, error) {
	t, ok := id.(pickle.Tuple)
	if !ok || len(t) < 5 {
		return nil, fmt.Errorf("got a persistent id of %T, want a tuple of 5", id)
	}
	word, _ := t[0].(string)
	dtype, ok1 := t[1].(storageType)
	key, ok2 := t[2].(string)
	device, ok3 := t[3].(string)
	numel, ok4 := t[4].(int64)
	if word != "storage" || !ok1 || !ok2 || !ok3 || !ok4 || numel < 0 {
		return nil, errors.New("got a persistent id that is no storage")
	}
	item := int64(1)
	if dtype != untyped {
		item = tensor.DType(dtype).ItemSize()
	}
	if numel > math.MaxInt64/16 {
		return nil, fmt.Errorf("got a storage of %d elements, want less", numel)
	}
	s := &storage{record: u.folder + key, dtype: dtype, device: deviceKind(device), nbytes: numel * item}
	n, known := u.records[s.record]
	if !known {
		n = len(u.records)
		u.records[s.record] = n
		if err := u.present(s); err != nil {
			return nil, err
		}
	}
	s.number = n
	return s, nil
}

// deviceKind drops the index: a case names the one device everything is on.
func deviceKind(device string) string {
	kind, _, _ := strings.Cut(device, ":")
	return kind
}

// present makes sure that a storage's record exists and is not shorter than it must be.
func (u *unpickler) present(s *storage) error {
	if s.nbytes == 0 || s.device == "meta" {
		return nil
	}
	size, ok := u.sizes.Of(s.record)
	if !ok {
		return fmt.Errorf("got no record %s, want one of %d bytes", s.record, s.nbytes)
	}
	if size < s.nbytes {
		return fmt.Errorf("%s: got %d bytes, want %d", s.record, size, s.nbytes)
	}
	return nil
}

// tensor is _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks), with the
// quantizer after the strides where there is one.
func (u *unpickler) tensor(quantized bool, args []any) (any, error) {
	want := 5
	if quantized {
		want = 6
	}
	if len(args) < want {
		return nil, fmt.Errorf("got %d arguments for a tensor, want %d", len(args), want)
	}
	st, ok := args[0].(*storage)
	if !ok {
		return nil, fmt.Errorf("got a tensor of %T, want a storage", args[0])
	}
	m := tensor.Meta{DType: tensor.DType(st.dtype), Device: st.device}
	if st.dtype == untyped {
		m.DType = tensor.Uint8
	}
	m.StorageOffset, ok = args[1].(int64)
	if !ok || m.StorageOffset < 0 {
		return nil, fmt.Errorf("got %v as a storage offset", args[1])
	}
	var err error
	if m.Sizes, err = u.dims(args[2]); err != nil {
		return nil, err
	}
	if m.Strides, err = u.dims(args[3]); err != nil {
		return nil, err
	}
	m.RequiresGrad, _ = args[want-1].(bool)
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("%s: tensor of %v: %w", st.record, m.Sizes, err)
	}
	if need := int64(m.StorageBytes()); need > st.nbytes {
		return nil, fmt.Errorf("%s: got a tensor of %d bytes in a storage of %d", st.record, need, st.nbytes)
	}
	return u.state(program.State{Meta: m, Storage: st.number, NBytes: st.nbytes, Record: st.record}), nil
}

// metaTensor is _rebuild_meta_tensor_no_storage(dtype, sizes, strides, requires_grad).
func (u *unpickler) metaTensor(args []any) (any, error) {
	if len(args) < 4 {
		return nil, fmt.Errorf("got %d arguments for a meta tensor, want 4", len(args))
	}
	d, ok := args[0].(int64)
	m := tensor.Meta{DType: tensor.DType(d), Device: "meta"}
	if !ok || d < 0 || d > math.MaxUint8 || !m.DType.Valid() {
		return nil, fmt.Errorf("got %v as a dtype", args[0])
	}
	var err error
	if m.Sizes, err = u.dims(args[1]); err != nil {
		return nil, err
	}
	if m.Strides, err = u.dims(args[2]); err != nil {
		return nil, err
	}
	m.RequiresGrad, _ = args[3].(bool)
	if err := m.Check(); err != nil {
		return nil, err
	}
	n := len(u.records)
	u.records[fmt.Sprint("meta ", n)] = n
	return u.state(program.State{Meta: m, Storage: n, NBytes: int64(m.StorageBytes())}), nil
}

func (u *unpickler) state(s program.State) *program.State {
	p := &s
	if u.constants {
		p.Class = tensor.Constant
	}
	u.d.prog.States = append(u.d.prog.States, p)
	return p
}

func (u *unpickler) dims(v any) ([]int64, error) {
	t, ok := v.(pickle.Tuple)
	if !ok {
		return nil, fmt.Errorf("got %T as sizes, want a tuple", v)
	}
	dims := make([]int64, len(t))
	for i, x := range t {
		n, ok := x.(int64)
		if !ok || n < 0 {
			return nil, fmt.Errorf("got %v as a size, want an integer", x)
		}
		dims[i] = n
	}
	return dims, nil
}

// Small values: what traced programs may compute shapes with.
const (
	maxDataRecord = 4 << 10
	numBatches    = "num_batches_tracked" // of every batch normalisation, counts training steps only
)

// readValues reads the elements of the small tensors among the constants and buffers. Of floating
// buffers, which are mostly running means, single numbers only.
func (d *decoder) readValues() error {
	for _, s := range d.prog.States {
		n := s.Meta.Numel()
		switch {
		case s.NBytes > maxDataRecord, n > tensor.MaxData, s.Meta.Device != "cpu":
			continue
		case s.Packed: // a convolution's strides and padding are packed into a tensor
			if !s.Meta.DType.Integral(false) || len(s.Meta.Sizes) != 1 {
				continue
			}
		case s.Class == tensor.Constant:
		case s.Class != tensor.Buffer, n > 1 && !s.Meta.DType.Integral(true), strings.HasSuffix(s.Name, numBatches):
			continue
		}
		data, err := fs.ReadFile(d.fs, s.Record)
		if err != nil && s.NBytes > 0 {
			return err
		}
		s.Data = values(data, &s.Meta)
	}
	return nil
}

// values reads a tensor's elements in row-major order; nil where its type has none that a program
// could compute with, or where the record was stripped.
func values(data []byte, m *tensor.Meta) *tensor.Data {
	if int64(len(data)) < int64(m.StorageBytes()) || m.DType.Complex() || m.DType.Quantized() {
		return nil
	}
	n, item := m.Numel(), m.DType.ItemSize()
	out := &tensor.Data{}
	index := make([]int64, len(m.Sizes))
	for range n {
		at := m.StorageOffset
		for k, i := range index {
			at += i * m.Strides[k]
		}
		raw := data[at*item : (at+1)*item]
		if m.DType.Floating() {
			f, ok := float(raw, m.DType)
			if !ok {
				return nil
			}
			out.Floats = append(out.Floats, f)
		} else {
			out.Ints = append(out.Ints, integer(raw, m.DType))
		}
		for k := len(index) - 1; k >= 0; k-- {
			if index[k]++; index[k] < m.Sizes[k] {
				break
			}
			index[k] = 0
		}
	}
	return out
}

func integer(raw []byte, t tensor.DType) int64 {
	var v uint64
	for i := len(raw) - 1; i >= 0; i-- {
		v = v<<8 | uint64(raw[i])
	}
	switch t {
	case tensor.Int8:
		return int64(int8(v))
	case tensor.Int16:
		return int64(int16(v))
	case tensor.Int32:
		return int64(int32(v))
	}
	return int64(v)
}

func float(raw []byte, t tensor.DType) (float64, bool) {
	le := binary.LittleEndian
	switch t {
	case tensor.Float64:
		return math.Float64frombits(le.Uint64(raw)), true
	case tensor.Float32:
		return float64(math.Float32frombits(le.Uint32(raw))), true
	case tensor.BFloat16:
		return float64(math.Float32frombits(uint32(le.Uint16(raw)) << 16)), true
	case tensor.Float16:
		return half(le.Uint16(raw)), true
	}
	return 0, false
}

// half is an IEEE 754 binary16.
func half(b uint16) float64 {
	exp, frac := int(b>>10&0x1f), float64(b&0x3ff)
	var v float64
	switch exp {
	case 0:
		v = math.Ldexp(frac, -24)
	case 0x1f:
		v = math.Inf(1)
		if frac != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(1024+frac, exp-25)
	}
	if b>>15 != 0 {
		v = -v
	}
	return v
}
