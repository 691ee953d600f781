package aotinductor

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// quiet are calls that neither make nor end a tensor.
var quiet = map[string]bool{
	"AOTI_TORCH_CHECK": true, "AOTI_TORCH_WARN": true, "__check_inputs_outputs": true, "assert_size_stride": true,
	"assert_alignment": true, "assert_numel": true,
	"inputs.clear": true, "aoti_torch_get_data_ptr": true, "stream_guard": true, "AOTICudaStreamGuard": true,
	"cpp_fused": true,
}

// call reads a call that is a separate statement.
func (r *cppReader) call(x *term) error {
	if x.kind == nameTerm { // AtenTensorHandle buf0_handle;
		return nil
	}
	if x.kind != callTerm {
		return fail(x.where, "got %s, want a statement of a wrapper", x)
	}
	name := x.text
	switch {
	case name == "AOTI_TORCH_ERROR_CODE_CHECK" && len(x.args) == 1 && x.args[0].kind == callTerm:
		return r.call(x.args[0])
	case quiet[name]:
		return nil
	case strings.HasSuffix(name, ".reset") && len(x.args) == 0:
		return r.free(strings.TrimSuffix(name, ".reset"), x.where)
	case name == "wrap_with_raii_handle_if_needed" && len(x.args) == 1:
		_, _, err := r.tensor(x)
		return err
	case strings.HasPrefix(name, "call_triton_"), strings.HasPrefix(name, "cpp_"), strings.HasPrefix(name, "launch"):
		return r.fused(x)
	case strings.HasPrefix(name, "aoti_torch_"):
		return r.shim(x)
	}
	return fail(x.where, "got a call of %s, want one that a wrapper makes", short(name))
}

// fused reads the launch of a kernel that inductor made.
func (r *cppReader) fused(x *term) error {
	var args []program.Arg
	for _, a := range x.args {
		of, ok, err := r.tensor(a)
		if err != nil {
			return err
		}
		if ok {
			args = append(args, of)
		}
	}
	r.kernel(strings.TrimPrefix(x.text, "call_"), args, x.where)
	return nil
}

// tensor reads a term that stands for a tensor; ok says whether it is one, which it is not with an
// error.
func (r *cppReader) tensor(x *term) (a program.Arg, ok bool, err error) {
	switch {
	case x.kind == nameTerm:
		a, ok = r.names[strings.TrimSuffix(x.text, ".get")]
		if !ok {
			a, ok = r.handles[x.text]
		}
		return a, ok, nil
	case x.kind != callTerm:
		return a, false, nil
	case strings.HasSuffix(x.text, ".get") && len(x.args) == 0:
		a, ok = r.names[strings.TrimSuffix(x.text, ".get")]
		return a, ok, nil
	case (x.text == "wrap_with_raii_handle_if_needed" || x.text == "RAIIAtenTensorHandle" ||
		x.text == "temporary_reference" || x.text == "std::move") && len(x.args) == 1:
		return r.wrapped(x)
	case x.text == "reinterpret_tensor_wrapper" && len(x.args) == 5:
		of, ok, err := r.tensor(x.args[0])
		if !ok {
			return of, ok, orFail(err, x.where, "got a view of %s, want a buffer", x.args[0])
		}
		m, err := r.meta(tensor.Undefined, x.args[2], x.args[3])
		if err != nil {
			return a, false, err
		}
		if m.Offset, err = x.args[4].size(r.numbers); err != nil {
			return a, false, err
		}
		return r.temporary(of, m, x.where), true, nil
	}
	return a, false, nil
}

func orFail(err error, where place, format string, args ...any) error {
	if err != nil {
		return err
	}
	return fail(where, format, args...)
}

// temporary is a view that ends with its statement.
func (r *cppReader) temporary(of program.Arg, m *program.TensorMeta, where place) program.Arg {
	r.counter++
	name := fmt.Sprintf("view %d", r.counter) // no name of C++
	r.view(name, of, m, where)
	r.temps = append(r.temps, name)
	return r.names[name]
}

// wrapped reads what takes over a handle to the end of the statement.
func (r *cppReader) wrapped(x *term) (program.Arg, bool, error) {
	inner := x.args[0]
	if inner.kind == nameTerm && x.text != "temporary_reference" {
		if a, ok := r.handles[inner.text]; ok {
			r.counter++
			name := fmt.Sprintf("handle %d", r.counter)
			r.bind(name, a)
			r.temps = append(r.temps, name)
			return a, true, nil
		}
	}
	return r.tensor(inner)
}

// shim reads a call of PyTorch's C interface (torch/csrc/inductor/aoti_torch/c/shim.h and its
// generated parts).
func (r *cppReader) shim(x *term) error {
	args, outs := x.args, []string(nil)
	for len(args) > 0 {
		last := args[len(args)-1].addressed()
		if last == nil || !r.declared[last.text] {
			break
		}
		outs = append([]string{last.text}, outs...)
		args = args[:len(args)-1]
	}
	name := strings.TrimPrefix(x.text, "aoti_torch_")
	one := len(outs) == 1
	switch {
	case (name == "empty_strided" || name == "empty_strided_pinned") && len(args) >= 6 && one:
		return r.allocated(name, args, outs[0], x.where)
	case name == "_alloc_from_pool" && len(args) == 6 && one:
		d, err := dtypeOf(args[2])
		if err != nil {
			return err
		}
		return r.viewed(outs[0], args[0], d, args[4:6])
	case name == "as_strided" && len(args) == 3 && one:
		return r.viewed(outs[0], args[0], tensor.Undefined, args[1:3])
	case (name == "new_tensor_handle" || name == "assign_tensors_out") && len(args) == 1 && one:
		return r.viewed(outs[0], args[0], tensor.Undefined, nil)
	case name == "delete_tensor_object" && len(args) == 1:
		return r.deleted(args[0])
	case name == "new_uninitialized_tensor" && one:
		v := r.value(strings.TrimSuffix(outs[0], "_handle"))
		r.none[v] = true
		r.handles[outs[0]] = program.Arg{Value: v}
		return nil
	case name == "grad_mode_set_enabled":
		return nil
	case name == "clone" && len(args) == 2 && args[1].addressed().isOutput():
		return r.copied(args[0], args[1].addressed().args[1].n, x.where)
	case strings.HasPrefix(name, "item_") && len(args) == 2 && args[1].addressed() != nil:
		a, ok, err := r.tensor(args[0])
		if !ok {
			return orFail(err, x.where, "got a value of %s, want one of a buffer", args[0])
		}
		r.item(args[1].addressed().text, a, x.where)
		return nil
	}
	return r.operator(x, name, args, outs)
}

func (r *cppReader) allocated(name string, args []*term, out string, where place) error {
	d, err := dtypeOf(args[3])
	if err != nil {
		return err
	}
	m, err := r.meta(d, args[1], args[2])
	if err != nil {
		return err
	}
	if m.Device = strings.TrimPrefix(args[4].text, "cached_torch_device_type_"); name != "empty_strided" {
		m.Device = "cpu"
	}
	n := r.node(program.BufferEmpty, where)
	n.Meta = &program.NodeMeta{Recorded: []*program.TensorMeta{m}}
	v := r.value(strings.TrimSuffix(out, "_handle"))
	n.Outs = []*program.Value{v}
	r.made[v] = n
	r.handles[out] = program.Arg{Value: v}
	return nil
}

// viewed makes a handle another look at what a term names; with no sizes the same.
func (r *cppReader) viewed(out string, of *term, d tensor.DType, layout []*term) error {
	a, ok, err := r.tensor(of)
	if !ok {
		return orFail(err, of.where, "got a view of %s, want a buffer", of)
	}
	n := r.node(program.BufferAlias, of.where)
	n.Args = []program.Arg{a}
	if len(layout) == 2 {
		m, err := r.meta(d, layout[0], layout[1])
		if err != nil {
			return err
		}
		n.Op, n.Meta = program.BufferView, &program.NodeMeta{Recorded: []*program.TensorMeta{m}}
	}
	v := r.value(strings.TrimSuffix(out, "_handle"))
	n.Outs = []*program.Value{v}
	r.made[v] = r.made[a.Value]
	r.handles[out] = program.Arg{Value: v}
	return nil
}

// copied gives the caller a copy of a weight: aoti_torch_clone(w, &output_handles[0]).
func (r *cppReader) copied(of *term, at int64, where place) error {
	a, ok, err := r.tensor(of)
	if !ok {
		return orFail(err, where, "got a copy of %s, want one of a buffer", of)
	}
	if at < 0 || at > maxOutputs {
		return fail(where, "got output %d, want a number", at)
	}
	n := r.node("aten::clone", where)
	n.Meta, n.Args = &program.NodeMeta{Key: "aten::clone"}, []program.Arg{a}
	v := r.value(fmt.Sprintf("output %d", at))
	n.Outs = []*program.Value{v}
	r.most = max(r.most, int(at)+1)
	r.results[int(at)] = program.Arg{Value: v}
	return nil
}

func (r *cppReader) deleted(x *term) error {
	a, ok := r.handles[x.text]
	if !ok {
		return fail(x.where, "got %s deleted, want a handle", x)
	}
	n := r.node(program.BufferFree, x.where)
	n.Args = []program.Arg{a}
	return nil
}

var (
	version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`_v\d+$`) })
	// pow_Tensor_Scalar is pow.Tensor_Scalar
	overload = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`_[A-Z]\w*$`) })
)

// operator reads a call of an operator of PyTorch's: its arguments as C has them.
func (r *cppReader) operator(x *term, name string, args []*term, outs []string) error {
	if name == "proxy_executor_call_function" {
		return r.proxied(x)
	}
	if s := shims()[strings.TrimPrefix(strings.TrimPrefix(name, "cuda_"), "cpu_")]; s != nil &&
		s.count() == len(x.args) {
		return r.known(x, s)
	}
	return r.inferred(x, name, args, outs)
}

// inferred reads a call of a function that the table does not have: the operator is what the name
// says, and arguments have their places in the schema.
func (r *cppReader) inferred(x *term, name string, args []*term, outs []string) error {
	base := version().ReplaceAllString(strings.TrimPrefix(strings.TrimPrefix(name, "cuda_"), "cpu_"), "")
	op := "aten::" + base
	meta := &program.NodeMeta{Key: op}
	lead := 0 // arguments that stand before the schema's
	if cut, ok := strings.CutSuffix(base, "_out"); ok {
		op, lead = "aten::"+cut, 1
		meta.Key = op + ".out"
	} else if at := overload().FindStringIndex(base); at != nil {
		op = "aten::" + base[:at[0]]
		meta.Key = op + "." + base[at[0]+1:]
	}
	var list []program.Arg
	for i := 0; i < len(args); i++ {
		a, count, err := r.argument(args[i])
		if err != nil {
			return err
		}
		// a list's length, or a device's number
		if count >= 0 && i+1 < len(args) && args[i+1].kind == intTerm && args[i+1].n == int64(count) {
			i++
		}
		list = append(list, a)
	}
	for i := range list[:min(lead, len(list))] {
		list[i].Name = "out"
	}
	n := r.node(op, x.where)
	n.Args, n.Meta = list, meta
	for _, out := range outs {
		r.result(n, out)
	}
	r.last, r.lastKnown = n, false
	r.describe(n)
	return nil
}

// alone is the count of an argument that C gives in one.
const alone = -1

// argument reads an argument of an operator; count is the length of a list and 0 of a device, which
// C gives another argument, else alone.
func (r *cppReader) argument(x *term) (a program.Arg, count int, err error) {
	for x.addressed() != nil || (x.text == "temporary_reference" || x.text == "static_cast") && len(x.args) == 1 {
		x = x.args[0]
	}
	if a, ok, err := r.tensor(x); ok || err != nil {
		if r.none[a.Value] {
			a = program.Arg{}
		}
		return a, alone, err
	}
	if x.kind == nameTerm {
		if t := r.arrays[x.text]; t != nil {
			x = t
		} else if t := r.numbers[x.text]; t != nil && t != x {
			return r.argument(t)
		}
	}
	switch {
	case x.kind == intTerm:
		return program.Arg{Const: x.n}, alone, nil
	case x.kind == floatTerm:
		return program.Arg{Const: x.f}, alone, nil
	case x.kind == textTerm:
		return program.Arg{Const: x.text}, alone, nil
	case x.kind == listTerm:
		items := make([]program.Arg, len(x.args))
		for i, item := range x.args {
			if items[i], _, err = r.argument(item); err != nil {
				return a, 0, err
			}
		}
		return program.Arg{Items: items}, len(items), nil
	case x.kind == nameTerm && x.text == "nullptr":
		return program.Arg{}, alone, nil
	case x.kind == nameTerm && (x.text == "true" || x.text == "false"):
		return program.Arg{Const: x.text == "true"}, alone, nil
	case x.kind == nameTerm && strings.HasPrefix(x.text, "cached_torch_dtype_"):
		d, err := dtypeOf(x)
		return program.Arg{Const: int64(d)}, alone, err
	case x.kind == nameTerm && strings.HasPrefix(x.text, "cached_torch_device_type_"):
		return program.Arg{Const: program.Device(strings.TrimPrefix(x.text, "cached_torch_device_type_"))}, 0, nil
	case x.kind == nameTerm && x.text == "cached_torch_layout_strided":
		return program.Arg{Const: int64(0)}, alone, nil
	case x.kind == nameTerm && memoryFormats[strings.TrimPrefix(x.text, "cached_torch_memory_format_")] > 0:
		number := memoryFormats[strings.TrimPrefix(x.text, "cached_torch_memory_format_")] - 1
		return program.Arg{Const: number}, alone, nil
	}
	if f, ok := x.unbounded(); ok {
		return program.Arg{Const: f}, alone, nil
	}
	size, err := x.size(r.numbers)
	if err != nil {
		return a, alone, err
	}
	return program.Arg{Const: size}, alone, nil
}
