package torchscript

import (
	"errors"
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// exec runs one instruction.
func (m *interp) exec(f *frame, in *inst) error {
	m.Node()
	switch in.node.Op {
	case "prim::If":
		return m.runIf(f, in)
	case "prim::Loop":
		return m.runLoop(f, in)
	case "prim::Return":
		return m.runReturn(f, in)
	case "prim::RaiseException":
		return m.runRaise(f, in)
	}
	v, err := m.eval(f, in)
	if err != nil {
		return m.fail(err)
	}
	m.releaseArgs(f, in)
	m.finish(f, in, v)
	return nil
}

// finish stores an owned result.
func (m *interp) finish(f *frame, in *inst, v any) {
	outs := in.node.Outs
	switch len(outs) {
	case 0:
		m.Drop(v)
	case 1:
		f.put(outs[0].ID, v)
		m.named(f, in)
	default: // an unpacking
		items := m.itemsOf(v, len(outs))
		for i, out := range outs {
			m.Hold(items[i])
			f.put(out.ID, items[i])
		}
		if f.names != nil {
			f.names.Together(int(in.num), v)
		}
		m.Drop(v)
		m.named(f, in)
	}
}

// named gives the user's names of an instruction's results.
func (m *interp) named(f *frame, in *inst) {
	if f.names == nil {
		return
	}
	for _, out := range in.node.Outs {
		if f.set[out.ID] {
			f.names.Made(out.ID, f.regs[out.ID])
		}
	}
}

// eval computes an instruction's owned result.
func (m *interp) eval(f *frame, in *inst) (any, error) {
	n := in.node
	switch n.Op {
	case "prim::GetAttr", "prim::EnumValue", "prim::EnumName":
		return m.evalGetAttr(f, in)
	case "prim::SetAttr":
		return m.evalSetAttr(f, in)
	case "prim::CallMethod":
		return m.evalCallMethod(f, in)
	case "prim::CallFunction":
		return m.evalCall(f, in, n.Callee, nil, 0)
	case "prim::fork":
		return m.evalCall(f, in, n.Callee, nil, 0)
	case "prim::CreateObject":
		return m.evalCreate(f, in)
	case "prim::TupleConstruct":
		if err := m.MakeItems(len(n.Args)); err != nil {
			return nil, err
		}
		return &ops.Tuple{Items: m.heldArgs(f, n.Args), Refs: 1}, nil
	case "prim::ListConstruct":
		if err := m.MakeItems(len(n.Args)); err != nil {
			return nil, err
		}
		l := &ops.List{Items: m.heldArgs(f, n.Args), Refs: 1}
		l.Elem = listElem(n, l)
		return l, nil
	case "prim::DictConstruct":
		if err := m.MakeItems(len(n.Args)); err != nil {
			return nil, err
		}
		d := &ops.Dict{Refs: 1}
		items := m.heldArgs(f, n.Args)
		for i := 0; i+1 < len(items); i += 2 {
			if at := d.Find(items[i]); at >= 0 {
				m.Drop(d.Values[at])
				d.Values[at] = items[i+1]
				continue
			}
			d.Keys, d.Values = append(d.Keys, items[i]), append(d.Values, items[i+1])
		}
		return d, nil
	case "prim::TupleUnpack", "prim::ListUnpack":
		v := m.arg(f, &n.Args[0])
		if got := lenOf(v); got >= 0 && got != len(n.Outs) {
			return nil, fmt.Errorf("got %d values to unpack, want %d", got, len(n.Outs))
		}
		m.Hold(v)
		if len(n.Outs) == 1 {
			items := m.itemsOf(v, 1)
			m.Hold(items[0])
			m.Drop(v)
			return items[0], nil
		}
		return v, nil
	case "prim::Uninitialized":
		return nil, nil
	case "prim::unchecked_cast", "prim::unchecked_unwrap_optional", "aten::_unwrap_optional":
		v := m.arg(f, &n.Args[0])
		if l, ok := v.(*ops.List); ok && len(l.Items) == 0 && l.Elem == schema.Any && len(n.Types) > 0 &&
			n.Types[0].Kind == program.ListType {
			l.Elem = exec.ElemKind(n.Types[0].Elems[0])
			m.Touch(l)
		}
		m.Hold(v)
		return v, nil
	case "prim::isinstance":
		return m.isInstance(m.arg(f, &n.Args[0]), n.Types), nil
	case "prim::Enter", "prim::Exit":
		return m.evalWith(f, in)
	}
	return m.evalOp(f, in)
}

func listElem(n *program.Node, l *ops.List) schema.Kind {
	if len(n.Types) > 0 && n.Types[0].Kind == program.ListType {
		return exec.ElemKind(n.Types[0].Elems[0])
	}
	if len(n.Outs) == 1 && n.Outs[0].Type != nil && n.Outs[0].Type.Kind == program.ListType {
		return exec.ElemKind(n.Outs[0].Type.Elems[0])
	}
	if len(l.Items) == 0 {
		return schema.Any
	}
	switch l.Items[0].(type) {
	case int64:
		return schema.Int
	case float64:
		return schema.Float
	case bool:
		return schema.Bool
	case string:
		return schema.Str
	case *tensor.Tensor:
		return schema.Tensor
	}
	return schema.Any
}

// heldArgs are the arguments' values, held by the container they go into.
func (m *interp) heldArgs(f *frame, args []program.Arg) []any {
	out := make([]any, len(args))
	for i := range args {
		out[i] = m.arg(f, &args[i])
		m.Hold(out[i])
	}
	return out
}

func lenOf(v any) int {
	switch v := v.(type) {
	case *ops.Tuple:
		return len(v.Items)
	case *ops.List:
		return len(v.Items)
	}
	return -1
}

// itemsOf are a container's members; of an unknown value they are unknown.
func (m *interp) itemsOf(v any, n int) []any {
	switch v.(type) {
	case *ops.Tuple, *ops.List:
		return ops.Members(v)
	}
	items := make([]any, n)
	for i := range items {
		items[i] = ops.NewUnbacked("unpack", schema.Any)
	}
	return items
}

// evalOp resolves and runs an operator.
func (m *interp) evalOp(f *frame, in *inst) (any, error) {
	m.siteOf(in)
	defer m.Sites.Leave()
	base := len(m.argStack)
	args, kw := m.opArgs(f, in)
	v, err := m.evalArgs(in, args, kw)
	if err == nil && m.ends == heldNames {
		m.KeepOwn(args, kw, v)
	}
	m.popArgs(base)
	return v, err
}

// evalArgs is evalOp with its arguments at hand.
func (m *interp) evalArgs(in *inst, args []any, kw ops.Kw) (any, error) {
	n := in.node
	if v, done, err := m.onIdentity(n, args); done {
		return v, err
	}
	args, kw = upgrade(n.Means, args, kw)
	var out *tensor.Tensor
	if o, ok := kw["out"].(*tensor.Tensor); ok {
		out = o
		delete(kw, "out") // the overload that returns, and its result goes there
	}
	bound, full, err := m.resolve(in, args, kw)
	if err != nil {
		return m.unresolved(n, args, err)
	}
	if m.eager && m.prog.Records != program.RecordsSource && m.Platform().Autocast != "" && fastPath(n.Op) {
		m.Unsupported(n.Op, trace.NotUnderAutocast)
	}
	if out != nil {
		return m.ApplyInto(bound, full, out)
	}
	return m.Apply(bound, full)
}

// unresolved is what an operator gives that err says has no rule for its arguments.
func (m *interp) unresolved(n *program.Node, args []any, err error) (any, error) {
	var none *ops.NoOverloadError
	missing, ok := exec.Missing(err)
	switch {
	case ok:
		m.Missed(missing)
	case !errors.As(err, &none):
		return nil, err
	case !exec.AnyUnknown(args): // PyTorch may have an overload for these arguments
		m.Unsupported(n.Op, trace.NoRule)
	case !m.Incomplete(): // what is not known is so for no other lack
		m.Unsupported(n.Op, trace.ReadsData)
	}
	m.unknownOuts(n)
	return ops.NewUnbacked(n.Op, schema.Any), nil
}

// fastPath says whether an operator is one of those that PyTorch's attention and encoder modules
// run for all of their forward at once, and not under autocast (torch/nn/modules/activation.py,
// transformer.py).
func fastPath(op string) bool {
	return op == "aten::_native_multi_head_attention" || op == "aten::_transformer_encoder_layer_fwd"
}

// unknownOuts counts the results of an operator without a rule: those that the program does not say
// are something else than tensors.
func (m *interp) unknownOuts(n *program.Node) {
	for _, v := range n.Outs {
		if v.Type == nil || v.Type.Kind == program.TensorType {
			m.UnknownTensor()
		}
	}
}

// opArgs splits the arguments into positional and keyword ones; a device baked into the archive
// becomes the run's. They are on the stack of arguments: who is done with them pops it.
func (m *interp) opArgs(f *frame, in *inst) ([]any, ops.Kw) {
	n := in.node
	args := m.pushArgs(len(n.Args))[:0]
	var kw ops.Kw
	for i := range n.Args {
		a := &n.Args[i]
		v := m.arg(f, a)
		if d, ok := v.(ops.Device); ok && a.Value == nil {
			v = m.remap(d)
		}
		if a.Name == "" {
			args = append(args, v)
			continue
		}
		if kw == nil {
			kw = make(ops.Kw, 4)
		}
		kw[a.Name] = v
	}
	if kw != nil && f != nil && f.names != nil && f.names.HostNumber(int(in.num)) {
		kw["device"] = ops.Device("cpu")
	}
	return args, kw
}

// remap turns a device that tracing baked into the code into the run's. A script names what its
// author named.
func (m *interp) remap(d ops.Device) ops.Device {
	if k := d.Kind(); k == exec.Accelerator || k == "meta" || !m.fromHost {
		if k == exec.Accelerator {
			return exec.Accelerator
		}
		return d
	}
	m.Note(note.Note{ID: note.DeviceRemapped, Subject: string(d)})
	return exec.Accelerator
}

// resolve finds the overload; an instruction keeps what it resolved to for arguments of the same
// kinds.
func (m *interp) resolve(in *inst, args []any, kw ops.Kw) (*ops.Bound, []any, error) {
	if o := in.overload; o != nil && len(kw) == 0 && len(args) > 0 && len(o.kinds) == len(args) &&
		sameKinds(o.kinds, args) {
		return o.bound, args, nil
	}
	bound, full, err := m.Table().Resolve(in.node.Op, args, kw)
	if err != nil {
		return nil, nil, err
	}
	o := in.overload
	if o == nil {
		o = new(overload)
		in.overload = o
	}
	o.bound, o.kinds = bound, o.kinds[:0]
	if len(args) == len(bound.Schema.Args) && unchanged(args, full) {
		for _, v := range args {
			o.kinds = append(o.kinds, kindOf(v))
		}
	}
	return bound, full, nil
}

// sameKinds says whether a former resolution still holds: containers may differ inside, so they are
// looked at anew.
func sameKinds(kinds []kind, args []any) bool {
	for i, v := range args {
		k := kindOf(v)
		if k != kinds[i] || k >= kDict {
			return false
		}
	}
	return true
}

// unchanged says that fitting converted nothing.
func unchanged(args, full []any) bool {
	for i, v := range args {
		switch full[i].(type) {
		case *ops.List, *ops.Tuple:
			if v != full[i] {
				return false
			}
		default:
			if kindOf(v) != kindOf(full[i]) {
				return false
			}
		}
	}
	return true
}

func (m *interp) evalGetAttr(f *frame, in *inst) (any, error) {
	n := in.node
	switch o := m.arg(f, &n.Args[0]).(type) {
	case *Object:
		v, ok := m.getAttr(o, n.Text)
		if !ok {
			return nil, fmt.Errorf("got no attribute %s in %s", n.Text, o.Class.Name)
		}
		m.Hold(v)
		return v, nil
	case *ops.Tuple:
		for i, name := range o.Names {
			if name == n.Text {
				m.Hold(o.Items[i])
				return o.Items[i], nil
			}
		}
	case Enum:
		if n.Op == "prim::EnumName" || n.Text == "name" {
			return o.Name, nil
		}
		return o.Value, nil
	case ops.Unbacked:
		return o, nil
	case ops.Device:
		if n.Text == "type" {
			return o.Kind(), nil
		}
	}
	return nil, fmt.Errorf("got no attribute %s in a value of type %s", n.Text, ops.TypeName(m.arg(f, &n.Args[0])))
}

func (m *interp) evalSetAttr(f *frame, in *inst) (any, error) {
	n := in.node
	o, ok := m.arg(f, &n.Args[0]).(*Object)
	if !ok {
		return nil, fmt.Errorf("got %s to set attribute %s of, want an object", ops.TypeName(m.arg(f, &n.Args[0])),
			n.Text)
	}
	if !m.setAttr(o, n.Text, m.arg(f, &n.Args[1])) {
		return nil, fmt.Errorf("got no attribute %s in %s", n.Text, o.Class.Name)
	}
	if !slices.Contains(m.written, o) {
		m.written = append(m.written, o)
	}
	if o.lit != nil {
		m.Alter()
	}
	return nil, nil
}

// isInstance tests a value against type annotations.
func (m *interp) isInstance(v any, types []*program.Type) bool {
	for _, t := range types {
		if t.Kind == program.ClassType {
			o, ok := v.(*Object)
			if ok && (o.Class == t.Class || o.Class.Name == t.Name) {
				return true
			}
			continue
		}
		if t.Kind == program.AnyType || exec.Fits(v, t) {
			return true
		}
	}
	return false
}
