package inductor

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/program"
)

// call reads a call that gives nothing.
func (r *pyReader) call(x *term) error {
	if x.kind != callTerm {
		return fail(x.where, "got %s, want a line of a wrapper", x)
	}
	name := x.text
	if strings.HasPrefix(name, "assert_") || name == "args.clear" || name == "torch.cuda.set_device" || name == "run_intermediate_hooks" {
		if err := computed(x.args...); err != nil {
			return err
		}
	}
	switch {
	case name == "assert_size_stride" && len(x.args) >= 3:
		r.asserts(x.args[0], x.args[1], x.args[2])
		return nil
	case name == "assert_size_stride_grouped" && len(x.args) >= 3:
		return r.grouped(x)
	case name == "assert_tensor_metadata" && len(x.args) >= 4:
		return r.describes(x)
	case name == "args.clear", name == "assert_alignment", name == "torch.cuda.set_device", name == "run_intermediate_hooks":
		return nil
	case strings.HasSuffix(name, ".run"):
		return r.launches(x)
	case strings.HasPrefix(name, "extern_kernels."), strings.HasPrefix(name, "torch.ops."), strings.HasPrefix(name, "aten."), strings.HasPrefix(name, "inductor_ops."):
		return r.operator(x, "")
	}
	return fail(x.where, "got a call of %s, want one that a wrapper makes", short(name))
}

func (r *pyReader) grouped(x *term) error {
	names, sizes, strides := x.args[0], x.args[1], x.args[2]
	if names.kind != listTerm || sizes.kind != listTerm || strides.kind != listTerm || len(sizes.args) != len(names.args) || len(strides.args) != len(names.args) {
		return fail(x.where, "got assert_size_stride_grouped without as many sizes and strides as tensors")
	}
	for i, n := range names.args {
		r.asserts(n, sizes.args[i], strides.args[i])
	}
	return nil
}

// asserts reads what is checked of an argument or, in releases that do not tell its dtype, of a result.
func (r *pyReader) asserts(of, sizes, strides *term) {
	for _, in := range r.params {
		if in.name == of.text && in.sizes == nil {
			in.sizes, in.strides = sizes, strides
		}
	}
}

// describes reads assert_tensor_metadata(buf0, size, stride, dtype, 'torch.ops.…'): what the operator before gave.
func (r *pyReader) describes(x *term) error {
	a := r.names[x.args[0].text]
	n := r.pending
	at, item := r.items[a.Value]
	switch {
	case a.Value == nil || at < 0 || at > maxResults:
		return nil
	case item: // of several
		n = r.made[a.Value]
	case n == nil || len(n.Outs) != 1 || n.Outs[0] != a.Value:
		return nil
	}
	if n == nil || n.Told.Key == "" {
		return nil
	}
	d, err := dtypeOf(x.args[3])
	if err != nil {
		return err
	}
	m, err := r.meta(d, x.args[1], x.args[2])
	if err != nil {
		return err
	}
	for len(n.Told.Recorded) <= at {
		n.Told.Recorded = append(n.Told.Recorded, nil)
	}
	n.Told.Recorded[at] = m
	return nil
}

// maxResults bounds an operator's.
const maxResults = 1 << 16

// launches reads triton_….run(buf0, buf1, 1024, stream=stream0).
func (r *pyReader) launches(x *term) error {
	if !r.module.kernels[strings.TrimSuffix(x.text, ".run")] {
		return fail(x.where, "got a call of %s, want one of a kernel that the module has", short(x.text))
	}
	before := len(r.owned)
	var args []program.Arg
	for _, a := range x.args {
		switch {
		case a.kind == nameTerm && r.names[a.text].Value != nil, a.kind == callTerm && a.text == "reinterpret_tensor":
			of, err := r.tensor(a)
			if err != nil {
				return err
			}
			args = append(args, of)
			continue
		case a.kind == signTerm && a.text == "=grid" && a.args[0].kind == callTerm: // before 2.7
			a = &term{kind: listTerm, args: a.args[0].args}
		case a.kind == nameTerm && !r.known(a.text):
			return fail(a.where, "got %s, want a buffer, a number or a stream", a)
		}
		if err := computed(a); err != nil {
			return err
		}
	}
	r.kernel(strings.TrimSuffix(x.text, ".run"), args, x.where)
	return r.drop(before, x.where)
}

// known says whether a name is no buffer, but stands for something.
func (r *pyReader) known(name string) bool {
	return r.numbers[name] != nil || r.reads[name] != nil || r.symbolArgument(name) || r.isSymbol(name) || r.streams[name] || r.module.constants[name] || name == "None" || name == "True" || name == "False"
}

// isSymbol says whether a name is that of an open size: s77 = arg0_1.
func (r *pyReader) isSymbol(name string) bool {
	for _, in := range r.params {
		if of := r.numbers[in.name]; of != nil && of.kind == nameTerm && of.text == name {
			return true
		}
	}
	return false
}

// drop ends the views that a line made.
func (r *pyReader) drop(before int, where place) error {
	for len(r.owned) > before {
		if err := r.free(r.owned[len(r.owned)-1], where); err != nil {
			return err
		}
	}
	return nil
}

// operator reads a fallback: extern_kernels.mm(a, b, out=c), torch.ops.aten.convolution.default(…).
func (r *pyReader) operator(x *term, name string) error {
	before := len(r.owned)
	told := &program.Told{}
	op := x.text
	switch {
	case strings.HasPrefix(op, "extern_kernels."):
		told.Key = "aten::" + strings.TrimPrefix(op, "extern_kernels.")
	case strings.HasPrefix(op, "torch.ops."), strings.HasPrefix(op, "aten."):
		k, err := key(op)
		if err != nil {
			return fail(x.where, "%v", err)
		}
		told.Key = k
	case strings.HasPrefix(op, "inductor_ops."):
		told.Key = "inductor::" + strings.TrimPrefix(op, "inductor_ops.")
	default:
		return fail(x.where, "got a call of %s, want one that a wrapper makes", short(op))
	}
	var args []program.Arg
	for _, a := range x.args {
		named := ""
		if a.kind == signTerm && strings.HasPrefix(a.text, "=") && len(a.args) == 1 {
			named, a = a.text[1:], a.args[0]
		}
		v, err := r.argument(a)
		if err != nil {
			return err
		}
		v.Name = named
		if named == "out" && strings.HasPrefix(x.text, "extern_kernels.") && !strings.Contains(told.Key, ".") {
			told.Key += ".out"
		}
		args = append(args, v)
	}
	n := r.node("", x.where)
	n.Told, n.Args = told, args
	n.Op, _, _ = strings.Cut(told.Key, ".")
	r.tell(n)
	if err := r.drop(before, x.where); err != nil {
		return err
	}
	if name != "" {
		v := r.name(name, n)
		r.made[v] = n
		r.pending = n
	}
	return nil
}

// argument reads an argument of an operator.
func (r *pyReader) argument(x *term) (program.Arg, error) {
	switch {
	case x.kind == intTerm:
		return program.Arg{Const: x.n}, nil
	case x.kind == floatTerm:
		return program.Arg{Const: x.f}, nil
	case x.kind == textTerm:
		return program.Arg{Const: x.text}, nil
	case x.kind == listTerm:
		items := make([]program.Arg, len(x.args))
		for i, item := range x.args {
			var err error
			if items[i], err = r.argument(item); err != nil {
				return program.Arg{}, err
			}
		}
		return program.Arg{Items: items}, nil
	case x.kind == callTerm && x.text == "reinterpret_tensor":
		return r.tensor(x)
	case x.kind == callTerm && x.text == "device":
		return program.Arg{Const: deviceOf(x.args)}, computed(x.args...)
	case x.kind == nameTerm && r.names[x.text].Value != nil:
		return r.names[x.text], nil
	case x.kind == nameTerm && x.text == "None":
		return program.Arg{}, nil
	case x.kind == nameTerm && (x.text == "True" || x.text == "False"):
		return program.Arg{Const: x.text == "True"}, nil
	case x.kind == nameTerm && x.text == "torch.strided":
		return program.Arg{Const: int64(0)}, nil
	case x.kind == nameTerm && strings.HasPrefix(x.text, "torch."):
		if n := memoryFormats[strings.TrimPrefix(x.text, "torch.")]; n > 0 {
			return program.Arg{Const: n - 1}, nil
		}
		d, err := dtypeOf(x)
		return program.Arg{Const: int64(d)}, err
	}
	if f, ok := x.unbounded(); ok {
		return program.Arg{Const: f}, nil
	}
	s, err := x.size(r.numbers)
	return program.Arg{Const: s}, err
}

// deviceOf is what device('cpu') and device(type='cuda', index=0) name; the device of the case where they do not tell.
func deviceOf(args []*term) program.Device {
	at := slices.IndexFunc(args, func(a *term) bool { return a.kind == textTerm || a.kind == signTerm && a.text == "=type" })
	if at < 0 {
		return "cuda"
	}
	a := args[at]
	if a.kind == signTerm {
		a = a.args[0]
	}
	name, _, _ := strings.Cut(a.text, ":")
	return program.Device(name)
}

// results reads return (a, b, ).
func (r *pyReader) results(l []token) error {
	r.returned = true
	p := &parser{toks: l, lang: python, pos: 1}
	x, err := p.term()
	if err != nil {
		return err
	}
	if x.kind != listTerm || p.peek().kind != endToken {
		return fail(l[0].where, "got a return of %s, want a tuple", x)
	}
	for _, item := range x.args {
		if item.kind == intTerm || item.kind == nameTerm && r.names[item.text].Value == nil && r.known(item.text) { // an open size, or None
			r.returns = append(r.returns, program.Arg{})
			continue
		}
		a, err := r.tensor(item)
		if err != nil {
			return err
		}
		r.returns = append(r.returns, a)
	}
	for _, a := range r.returns {
		for i := len(r.owned) - 1; i >= 0 && a.Value != nil; i-- {
			if r.names[r.owned[i]].Value == a.Value {
				r.forget(r.owned[i])
			}
		}
	}
	return nil
}
