package torchexport

import (
	"fmt"
	"math"

	"github.com/memspec/memspec/engine/internal/jsonscan"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// maxSize is no limit.
const maxSize = math.MaxInt64

// dtypes are the numbers of torch/_export/serde/schema.py's ScalarType, which are its own.
var dtypes = map[int64]tensor.DType{
	1: tensor.Uint8, 2: tensor.Int8, 3: tensor.Int16, 4: tensor.Int32, 5: tensor.Int64, 6: tensor.Float16,
	7: tensor.Float32, 8: tensor.Float64,
	9: tensor.ComplexHalf, 10: tensor.Complex64, 11: tensor.Complex128, 12: tensor.Bool, 13: tensor.BFloat16,
	28: tensor.Uint16, 29: tensor.Float8E4M3FN, 30: tensor.Float8E5M2, 31: tensor.Float8E4M3UZ, 32: tensor.Float8E5M2UZ,
	33: tensor.Float8E8M0FNU, 34: tensor.Uint32, 35: tensor.Uint64,
}

func dtypeOf(n int64) (tensor.DType, error) {
	if d, ok := dtypes[n]; ok {
		return d, nil
	}
	return tensor.Undefined, fmt.Errorf("got dtype %d, want one of torch.export's", n)
}

// states are the program's parameters, buffers and constants.
type states struct {
	payloads *payloads
	byName   map[string]*program.State
	order    []*program.State // as the graph takes them
	storages map[string]int   // by record
	// subclasses are those that are made of other tensors, which are their own states.
	subclasses map[*program.State][]part
}

// state is the tensor that an input of the graph stands for; recorded is how the graph knows it.
func (l *lowerer) state(spec *inputSpec, recorded *tensorMeta) (*program.State, error) {
	if st := l.byName[spec.target]; st != nil {
		return st, nil
	}
	p := l.payloads.byName[spec.target]
	m := recorded
	if p != nil && p.hasMeta {
		m = &p.meta
	}
	if m == nil {
		return nil, fmt.Errorf("%s: got no description of it, want its sizes", spec.target)
	}
	st := &program.State{Name: spec.target, Class: map[specKind]tensor.Category{parameterSpec: tensor.Parameter,
		bufferSpec: tensor.Buffer, constantSpec: tensor.Constant}[spec.kind]}
	st.OfCode = spec.kind == constantSpec
	var err error
	if p != nil && p.saved != nil && p.saved.inner != nil {
		l.subclasses[st] = l.unwrap(spec.target, p.saved, st.Class, p.record)
	}
	if st.Meta, err = fixed(m); err != nil {
		return nil, fmt.Errorf("%s: %w", spec.target, err)
	}
	need := int64(st.Meta.StorageBytes())
	key := "of " + spec.target
	switch {
	case p == nil:
		st.NBytes = need
	case p.saved != nil && p.saved.inner == nil:
		st.NBytes, st.Record, key = max(need, p.saved.bytes), p.record, p.saved.storage
	case p.saved != nil: // counted by what it is made of
		st.NBytes = need
	case p.bytes == 0 || p.pickled: // fake weights, which share one empty record, or a subclass
		st.NBytes, st.Record = max(need, p.bytes), p.record
	default:
		st.NBytes, st.Record, key = p.bytes, p.record, p.record
		if need > p.bytes {
			return nil, fmt.Errorf("%s: got a tensor of %d bytes in %s of %d", spec.target, need, p.record, p.bytes)
		}
	}
	l.byName[spec.target] = st
	if l.subclasses[st] == nil { // the graph takes a subclass apart; one that it uses whole is counted then
		l.keep(st, key)
	}
	return st, nil
}

// keep counts a state.
func (s *states) keep(st *program.State, key string) {
	st.Storage = s.storageNumber(key)
	s.order = append(s.order, st)
}

func (s *states) storageNumber(key string) int {
	number, ok := s.storages[key]
	if !ok {
		number = len(s.storages)
		s.storages[key] = number
	}
	return number
}

// fixed is a tensor whose sizes do not stay open.
func fixed(m *tensorMeta) (tensor.Meta, error) {
	d, err := dtypeOf(m.dtype)
	if err != nil {
		return tensor.Meta{}, err
	}
	out := tensor.Meta{DType: d, Device: m.device, RequiresGrad: m.grad, Sizes: make([]int64, len(m.sizes)),
		Strides: make([]int64, len(m.strides))}
	for i := range m.sizes {
		out.Sizes[i], err = m.sizes[i].fixed(err)
	}
	for i := range m.strides {
		out.Strides[i], err = m.strides[i].fixed(err)
	}
	if out.StorageOffset, err = m.offset.fixed(err); err != nil {
		return out, err
	}
	if len(out.Sizes) != len(out.Strides) {
		return out, fmt.Errorf("got %d sizes and %d strides", len(out.Sizes), len(out.Strides))
	}
	return out, out.Check()
}

func (s *size) fixed(err error) (int64, error) {
	if err == nil && s.text != nil {
		err = fmt.Errorf("got the size %s, want a plain number", short(unescaped(s.text)))
	}
	return s.n, err
}

// loadOrder is the order in which torch.export.load makes the tensors: that of the archive, then
// what the archive does not list.
func (l *lowerer) loadOrder() []*program.State {
	out := make([]*program.State, 0, len(l.order))
	seen := map[*program.State]bool{}
	add := func(st *program.State) {
		if st != nil && !seen[st] {
			seen[st] = true
			out = append(out, st)
		}
	}
	for i := range l.payloads.list {
		st := l.byName[l.payloads.list[i].name]
		if parts := l.subclasses[st]; parts != nil {
			for _, p := range parts {
				add(p.state)
			}
			continue
		}
		add(st)
	}
	for _, st := range l.order {
		add(st)
	}
	return out
}

// unescaped is a raw text without its escapes; one that is none stays as it is.
func unescaped(raw []byte) string {
	text, err := jsonscan.Unescape(raw)
	if err != nil {
		return string(raw)
	}
	return text
}
