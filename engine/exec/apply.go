package exec

import (
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// apply runs one overload and returns its result, held once for the caller.
func (m *machine) apply(b *ops.Bound, args []any) (any, error) {
	if b.Rule.Host == nil && anyUnknown(args) {
		known, why, ok := ops.StandIns(b, args)
		if !ok || len(m.tr.Coverage.Unsupported) > 0 {
			if len(m.tr.Coverage.Unsupported) == 0 && ops.MakesTensor(b, args) {
				m.unsupported(b.Schema.Key(), trace.ReadsData)
			}
			return m.unknownResult(b), nil
		}
		args = known
		if why != "" {
			m.Note(note.Note{ID: why})
			was := m.standing
			m.standing = true
			defer func() { m.standing = was }()
		}
	}
	mark := len(m.temps)
	if m.plat.Autocast != "" && !m.casting {
		to, cast, done, err := m.autocastArgs(b, args)
		if err != nil {
			return nil, err
		}
		b = to
		if done {
			return m.applyCast(b, cast, args, mark)
		}
	}
	v, err := m.applyRule(m.newCall(b, args))
	m.endCall()
	if len(m.temps) > mark {
		m.dropTemps(mark)
	}
	return v, err
}

// applyCast runs an overload on arguments that autocast changed.
func (m *machine) applyCast(b *ops.Bound, cast, args []any, mark int) (any, error) {
	m.casting = true
	v, err := m.applyRule(m.newCall(b, cast))
	m.endCall()
	m.casting = false
	if err == nil {
		v, err = m.castBack(b, args, v, mark)
	}
	m.dropTemps(mark)
	return v, err
}

func (m *machine) applyRule(c *ops.Call) (any, error) {
	r := c.Rule
	switch {
	case r.Host != nil:
		if c.WritesContainer {
			m.touchAll(c.Args)
		}
		if u, missing, undecided := ops.Undecided(c); undecided {
			if missing && len(m.tr.Coverage.Unsupported) == 0 {
				m.unsupported(c.Schema.Key(), trace.ReadsData)
			}
			if len(c.Schema.Returns) == 1 {
				return u, nil
			}
			return m.unknownResult(c.Bound), nil
		}
		v, err := r.Host(c)
		if err != nil {
			return nil, err
		}
		if u, unknown := v.(ops.Unknown); unknown && u.Kind == schema.Int && ops.ReadsTensor(c) {
			if n, ok := m.assumed(); ok {
				return n, nil
			}
		}
		m.hold(v)
		return v, nil
	case r.Body != nil:
		v, err := r.Body(c)
		if err == nil {
			err = c.Err()
		}
		if missing, ok := isMissing(err); ok {
			m.missed(missing)
			return m.unknownResult(c.Bound), nil
		}
		if err != nil {
			return nil, err
		}
		m.hold(v)
		return v, nil
	}
	return m.applyOut(c)
}

// dropTemps lets go of what the operator made on its way, the latest first, as C++ locals go.
func (m *machine) dropTemps(mark int) {
	for i := len(m.temps) - 1; i >= mark; i-- {
		v := m.temps[i]
		m.temps[i] = nil
		m.temps = m.temps[:i]
		m.dropNative(v)
	}
}

// applyOut gives results their storages: fresh, view or in place, as the schema's alias annotations say.
func (m *machine) applyOut(c *ops.Call) (any, error) {
	metas, err := c.Rule.Out(c)
	if err != nil {
		return nil, err
	}
	var scratch []ops.Scratch
	if c.Rule.Scratch != nil && !m.plat.Scratchless() {
		scratch = c.Rule.Scratch(c)
		m.library.add(scratch)
	}
	var held []*tensor.Storage
	for i := range scratch {
		if scratch[i].Before {
			held = m.takeScratch(&scratch[i], held)
		}
	}
	v, err := m.results(c, metas)
	if err != nil {
		return nil, err
	}
	for i := range scratch {
		if !scratch[i].Before {
			held = m.takeScratch(&scratch[i], held)
		}
	}
	for i := len(held) - 1; i >= 0; i-- {
		m.release(held[i].ID)
	}
	return v, nil
}

// takeScratch allocates a library's scratch; what stays is taken once a key.
func (m *machine) takeScratch(s *ops.Scratch, held []*tensor.Storage) []*tensor.Storage {
	if s.Bytes <= 0 && s.Upper <= 0 {
		return held
	}
	if s.Keep != "" {
		if m.kept[s.Keep] {
			return held
		}
		if m.kept == nil {
			m.kept = map[string]bool{}
		}
		m.kept[s.Keep] = true
	}
	if s.Trial != "" {
		if m.kept[s.Trial] {
			return held
		}
		if m.kept == nil {
			m.kept = map[string]bool{}
		}
		m.kept[s.Trial] = true
	}
	if s.Note != "" {
		m.Note(note.Note{ID: s.Note, Subject: s.Source, Askable: s.Asked != nil && s.Asked.By.Library == ""})
	}
	site := m.site
	m.site = m.workspaceSite()
	st := m.newStorage(s.Bytes, accelerator, tensor.Workspace)
	m.site = site
	if s.Keep != "" || s.Trial != "" {
		m.once = append(m.once, st.ID)
	}
	if s.Upper > s.Bytes {
		m.tr.Upper = append(m.tr.Upper, trace.Estimate{Storage: st.ID, Bytes: s.Upper})
	}
	if s.Asked != nil && s.Asked.By.Library != "" {
		m.tr.Sources = append(m.tr.Sources, trace.Source{Storage: st.ID, Text: s.Source})
	}
	switch {
	case s.Trial != "":
		m.release(st.ID)
		m.tr.Events = append(m.tr.Events, trace.Event{Action: trace.EmptyCache, Storage: trace.NoStorage, Pass: m.pass, Site: m.site})
	case s.Keep == "":
		held = append(held, st)
	}
	return held
}

// results builds what the operator returns.
func (m *machine) results(c *ops.Call, metas []tensor.Meta) (any, error) {
	copies := c.Rule.Copies != nil && c.Rule.Copies(c)
	if len(c.Results) == 1 && !c.Results[0].List {
		if len(metas) != 1 {
			return nil, fmt.Errorf("internal error: %s: got %d results, want 1", c.Schema.Key(), len(metas))
		}
		t, err := m.result(c, c.Results[0], &metas[0], copies)
		if err != nil || t == nil {
			return nil, err
		}
		return t, nil
	}
	out := make([]any, 0, len(c.Results))
	next := 0
	for _, r := range c.Results {
		n := 1
		var items []any
		if r.List {
			n = max(len(metas)-next, 0)
			items = make([]any, 0, n)
		}
		for range n {
			if next >= len(metas) {
				return nil, fmt.Errorf("internal error: %s: got %d results, want %d", c.Schema.Key(), len(metas), len(c.Results))
			}
			t, err := m.result(c, r, &metas[next], copies)
			if err != nil {
				return nil, err
			}
			next++
			var v any
			switch {
			case t != nil:
				v = t
			case len(metas[next-1].Sizes) == 1: // a number, see ops.Rule.Out
				v = metas[next-1].Sizes[0]
			}
			if r.List {
				items = append(items, v)
			} else {
				out = append(out, v)
			}
		}
		if r.List {
			out = append(out, &ops.List{Items: items, Elem: tensorKind, Refs: 1})
		}
	}
	switch len(c.Results) {
	case 0:
		return nil, nil
	case 1:
		return out[0], nil
	}
	return &ops.Tuple{Items: out, Refs: 1, Struct: c.Schema.Returns[0].Name != ""}, nil
}

// result is one returned tensor, held once; nil for an undefined one.
func (m *machine) result(c *ops.Call, r ops.Result, meta *tensor.Meta, copies bool) (*tensor.Tensor, error) {
	if meta.DType == tensor.Undefined {
		return nil, nil
	}
	var base *tensor.Tensor
	if r.Mode != ops.Fresh && !(copies && r.Mode == ops.View) {
		base, _ = c.Args[r.Arg].(*tensor.Tensor)
	}
	m.tr.Coverage.TensorOutputs++
	if meta.DType.Valid() {
		m.tr.Coverage.KnownDType++
		if !m.byData {
			m.tr.Coverage.Sized++
		}
	}
	switch {
	case base == nil:
		t, err := m.newTensor(*meta, tensor.Activation)
		if err != nil {
			return nil, c.Errorf("%v", err)
		}
		t.Data = m.value(c, t)
		m.knows(t)
		return t, nil
	case r.Mode == ops.InPlace:
		if !sameMeta(&base.Meta, meta) {
			if err := m.remeta(base, meta); err != nil {
				return nil, c.Errorf("%v", err)
			}
		}
		data := m.value(c, base) // from the values before the write
		m.changed = m.changed || m.isOld(base.Storage) && (data != nil || base.Data != nil)
		m.forget(base)
		base.Data = data
		m.knows(base)
		m.hold(base)
		return base, nil
	}
	if sameMeta(&base.Meta, meta) && c.Rule.Copies != nil {
		m.hold(base)
		return base, nil
	}
	if err := meta.Check(); err != nil {
		return nil, c.Errorf("%v", err)
	}
	t := m.tensors.new()
	*t = tensor.Tensor{Meta: *meta, Storage: base.Storage}
	t.Data = m.value(c, t)
	m.knows(t)
	m.hold(t)
	return t, nil
}

// knows remembers a tensor whose values are known, and forget makes those of a storage unknown that is written: an alias would keep what was
// there before.
func (m *machine) knows(t *tensor.Tensor) {
	if t.Data == nil {
		return
	}
	if m.known == nil {
		m.known = map[*tensor.Storage][]*tensor.Tensor{}
	}
	m.known[t.Storage] = append(m.known[t.Storage], t)
}

func (m *machine) forget(t *tensor.Tensor) {
	known := m.known[t.Storage]
	if len(known) == 0 {
		return
	}
	m.changed = m.changed || m.isOld(t.Storage)
	for _, alias := range known {
		alias.Data = nil
	}
	delete(m.known, t.Storage)
}

// remeta changes a tensor written in place: its view, or its size. A storage that must grow is made anew (resize_).
func (m *machine) remeta(t *tensor.Tensor, meta *tensor.Meta) error {
	if err := meta.Check(); err != nil {
		return err
	}
	old := t.Storage
	m.changed = m.changed || m.isOld(old)
	t.Meta = *meta
	if need := meta.StorageBytes(); need > old.NBytes && old.ID >= 0 {
		return m.grow(t, need)
	}
	return nil
}

// grow gives t's storage more bytes: a birth at the new size and then a death of the old one, shared by every alias.
func (m *machine) grow(t *tensor.Tensor, need units.Bytes) error {
	old := t.Storage
	bigger := m.newStorage(need, old.Device, old.Category)
	m.refs[bigger.ID] = m.refs[old.ID]
	m.refs[old.ID] = 0
	m.release(old.ID)
	// aliases keep the pointer: the storage changes its number and size in place
	id := bigger.ID
	*old = *bigger
	m.live[id] = old
	return nil
}

// value is the elements of a small result whose inputs are known.
func (m *machine) value(c *ops.Call, t *tensor.Tensor) *tensor.Data {
	if c.Rule.Value == nil || m.standing || t.Numel() > tensor.MaxData || !knownInputs(c.Args) {
		return nil
	}
	return c.Rule.Value(c)
}

func knownInputs(args []any) bool {
	for _, a := range args {
		switch v := a.(type) {
		case *tensor.Tensor:
			if v.Data == nil && v.Numel() > 0 {
				return false
			}
		case *ops.List:
			if !knownInputs(v.Items) {
				return false
			}
		}
	}
	return true
}

func sameMeta(a, b *tensor.Meta) bool {
	return a.DType == b.DType && a.StorageOffset == b.StorageOffset && a.Device == b.Device &&
		slices.Equal(a.Sizes, b.Sizes) && slices.Equal(a.Strides, b.Strides)
}

// anyUnknown says whether an argument, or a member of a list, is the result of an operator without a rule.
func anyUnknown(args []any) bool {
	for _, v := range args {
		switch v := v.(type) {
		case ops.Unknown:
			return true
		case *ops.List:
			if anyUnknown(v.Items) {
				return true
			}
		}
	}
	return false
}

// unknownResult has the shape of b's returns. The tensors among them count as neither known nor sized.
func (m *machine) unknownResult(b *ops.Bound) any {
	for i := range b.Schema.Returns {
		if b.Schema.Returns[i].Type.Kind == schema.Tensor {
			m.tr.Coverage.TensorOutputs++
		}
	}
	if len(b.Schema.Returns) == 0 {
		return ops.Unknown{Op: b.Schema.Key()}
	}
	items := make([]any, len(b.Schema.Returns))
	for i := range items {
		items[i] = ops.Unknown{Op: b.Schema.Key(), Kind: ops.KindOf(b.Schema.Returns[i].Type)}
	}
	if len(items) == 1 {
		return items[0]
	}
	return &ops.Tuple{Items: items, Refs: 1}
}

// applyInto runs an operator with its result written into out, which is resized where it does not fit: a kernel writes there and
// allocates nothing; what is made of other operators copies.
func (m *machine) applyInto(b *ops.Bound, args []any, out *tensor.Tensor) (any, error) {
	if b.Rule.Out == nil || len(b.Results) != 1 || b.Results[0].List || anyUnknown(args) {
		v, err := m.apply(b, args)
		if err != nil {
			return nil, err
		}
		m.drop(v)
		m.hold(out)
		return out, nil
	}
	c := &ops.Call{Bound: b, Args: args, M: m}
	metas, err := b.Rule.Out(c)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(metas[0].Sizes, out.Sizes) {
		meta := metas[0]
		meta.DType = out.DType
		if err := m.remeta(out, &meta); err != nil {
			return nil, c.Errorf("%v", err)
		}
	}
	m.changed = m.changed || m.isOld(out.Storage) && out.Data != nil
	m.forget(out)
	out.Data = nil
	m.hold(out)
	return out, nil
}
