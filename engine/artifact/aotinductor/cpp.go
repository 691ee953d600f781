package aotinductor

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/program"
)

// cppReader reads the statements of AOTInductorModel::run_impl
// (torch/_inductor/codegen/cpp_wrapper_cpu.py, cpp_wrapper_gpu.py).
type cppReader struct {
	*graph
	states   []*program.State
	own      []ownCall
	declared map[string]bool        // AtenTensorHandle variables
	handles  map[string]program.Arg // what they were given, which they do not hold by themselves
	inputs   []*input
	results  map[int]program.Arg
	most     int // one more than the last result
	last     *program.Node
	// lastKnown says that the function which last calls is of the table: the overload is its.
	lastKnown bool
	temps     []string // of the statement under way
	counter   int
}

// input is a parameter of the wrapper.
type input struct {
	name           string
	value          *program.Value
	sizes, strides *term
}

// Conditions of blocks that are not run, or that hold what is known to be true.
const (
	checksInputs = "_check_aoti_runtime_check_inputs_env" // AOTI_RUNTIME_CHECK_INPUTS: asserts alone
	// copies an input that is not aligned to 16 bytes, as PyTorch's allocator makes none
	aligns = "reinterpret_cast"
)

func (r *cppReader) run(list []statement) error {
	for i := range list {
		if err := r.statement(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *cppReader) statement(s *statement) error {
	switch {
	case s.note != "":
		r.note(s.note)
		return nil
	case s.again || s.other != nil:
		return r.control(s)
	case s.cond != nil && s.cond.text == checksInputs:
		return r.asserts(s.block)
	case s.cond != nil && s.cond.text == aligns:
		return only(s.block, "AOTI_TORCH_WARN", "AOTI_TORCH_ERROR_CODE_CHECK", "aoti_torch_clone_preserve_strides",
			"std::move", "RAIIAtenTensorHandle")
	case s.cond != nil:
		return r.control(s)
	case s.right == nil:
		return r.scope(s)
	}
	var err error
	if len(s.left) > 0 {
		err = r.assignment(s)
	} else {
		err = r.call(s.right)
	}
	for i := len(r.temps) - 1; i >= 0 && err == nil; i-- { // temporaries end with their statement
		err = r.free(r.temps[i], s.where)
	}
	r.temps = r.temps[:0]
	return err
}

// only refuses a block that calls other functions.
func only(list []statement, functions ...string) error {
	var check func(x *term) error
	check = func(x *term) error {
		if x.kind == callTerm && !slices.Contains(functions, x.text) {
			return fail(x.where, "got a call of %s, want one of %s here", short(x.text), strings.Join(functions, ", "))
		}
		for _, a := range x.args {
			if err := check(a); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range list {
		s := &list[i]
		if s.block != nil || s.cond != nil {
			return fail(s.where, "got a block in a block, want calls of %s", strings.Join(functions, ", "))
		}
		if s.right != nil {
			if err := check(s.right); err != nil {
				return err
			}
		}
	}
	return nil
}

// scope runs a block, whose names end with it.
func (r *cppReader) scope(s *statement) error {
	before := len(r.owned)
	if err := r.run(s.block); err != nil {
		return err
	}
	for len(r.owned) > before {
		if err := r.free(r.owned[len(r.owned)-1], s.where); err != nil {
			return err
		}
	}
	return nil
}

// assign reads a declaration or an assignment.
func (r *cppReader) assignment(s *statement) error {
	name, array := "", false
	for i, t := range s.left {
		switch {
		case t.kind == nameToken:
			name = t.text
		case t.text == "[":
			array = s.left[i+1].text == "]"
		}
	}
	first := s.left[0].text
	x := s.right
	switch {
	case first == "output_handles":
		return r.output(s)
	case array:
		r.arrays[name] = x
		return nil
	case first == "int64_t" && x.kind == nameTerm && x.text == "nullptr": // of no dimensions
		r.arrays[name] = &term{kind: listTerm, where: s.where}
		return nil
	case x.kind == nameTerm && first == "AtenTensorHandle": // declared without a value
		r.declared[x.text] = true
		return nil
	case x.kind == nameTerm && len(s.left) == 1 && first == "RAIIAtenTensorHandle":
		r.declare(x.text, s.where)
		return nil
	case x.kind == nameTerm && len(s.left) == 1 && numberTypes[first]: // int64_t u0_raw;
		return nil
	// RAIIAtenTensorHandle buf0(buf0_handle)
	case first == "RAIIAtenTensorHandle" && x.kind == callTerm && len(x.args) == 1 && x.args[0].kind == nameTerm:
		a, ok := r.handles[x.args[0].text]
		if !ok {
			return fail(s.where, "got %s, want a handle that was made", x.args[0])
		}
		r.bind(x.text, a)
		return nil
	case strings.HasSuffix(first, "Guard"), first == "stream_guard", first == "CUdeviceptr", x.kind == callTerm &&
		x.text == "steal_from_raw_handles_to_raii_handles":
		return nil
	case x.kind == callTerm && x.text == "constants_.at" && len(x.args) == 1 && x.args[0].kind == intTerm:
		n := x.args[0].n
		if n < 0 || n >= int64(len(r.states)) {
			return fail(s.where, "got constant %d, want one of %d", n, len(r.states))
		}
		r.names[name] = program.Arg{Const: r.states[n]}
		return nil
	// of a name that is declared
	case x.text == "std::move" && len(x.args) == 1 && len(s.left) == 1 && x.args[0].kind == nameTerm:
		return r.assign(name, x.args[0].text, s.where)
	case x.text == "std::move" && len(x.args) == 1:
		return r.moved(name, x.args[0], s.where)
	case x.kind == indexTerm:
		return r.symbol(name, x)
	case first == "auto" && x.kind == nameTerm && r.renamed(x.text, name): // auto u0 = u0_raw
		return nil
	case first == "auto" && x.kind == callTerm && strings.HasSuffix(x.text, ".size") && len(x.args) == 1 &&
		x.args[0].kind == intTerm:
		// auto u0 = buf1.size(0)
		a, ok := r.names[strings.TrimSuffix(x.text, ".size")]
		if !ok {
			return fail(s.where, "got a size of %s, want one of a buffer", short(x.text))
		}
		r.size(name, a, x.args[0].n, s.where)
		return nil
	// a kernel's xnumel, as it is for the next one
	case len(s.left) == 1 && r.numbers[name] != nil && x.kind != callTerm:
		r.numbers[name] = x
		return nil
	case first == "int64_t" || first == "double" || first == "int32_t" || first == "float" || first == "bool":
		r.numbers[name] = x
		return nil
	case first == "auto":
		a, ok, err := r.tensor(x)
		if err != nil {
			return err
		}
		if !ok {
			// arg0_1_size, the kernels, or an optional number, device or dtype that a call is given
			// by address
			r.numbers[name] = x
			return nil
		}
		r.keep(name, a)
		return nil
	}
	return fail(s.where, "got %s = %s, want a statement of a wrapper", short(name), x)
}

// moved reads auto x = std::move(y) and auto arg0 = std::move(inputs[0]).
func (r *cppReader) moved(name string, of *term, where place) error {
	if of.kind == indexTerm && of.args[0].text == "inputs" && of.args[1].kind == intTerm {
		v := r.value(name)
		r.inputs = append(r.inputs, &input{name: name, value: v})
		r.bind(name, program.Arg{Value: v})
		if int(of.args[1].n) != len(r.inputs)-1 {
			return fail(where, "got input %d as the %dth, want them in order", of.args[1].n, len(r.inputs)-1)
		}
		return nil
	}
	if of.kind != nameTerm {
		return fail(where, "got std::move of %s, want a name", of)
	}
	return r.move(name, of.text, where)
}

// keep gives a temporary a name, for as long as that lasts.
func (r *cppReader) keep(name string, a program.Arg) {
	if last := len(r.temps) - 1; last >= 0 && r.names[r.temps[last]].Value == a.Value {
		r.forget(r.temps[last])
		r.temps = r.temps[:last]
		a.Value.Name = name
		r.bind(name, a)
		return
	}
	r.view(name, a, nil, place{})
}

// symbol reads int64_t s77 = arg0_1_size[0].
func (r *cppReader) symbol(name string, x *term) error {
	of, at := x.args[0], x.args[1]
	for _, in := range r.inputs {
		if from := r.numbers[of.text]; from != nil && at.kind == intTerm && strings.HasPrefix(from.text, in.name+".") {
			delete(r.numbers, name)
			return nil // a symbol, which the sizes of the inputs give
		}
	}
	return fail(x.where, "got %s from %s, want a size of an input", short(name), x)
}

// maxOutputs bounds the number of an output.
const maxOutputs = 1 << 20

// isOutput says whether a term is output_handles[0].
func (t *term) isOutput() bool {
	return t != nil && t.kind == indexTerm && t.args[0].text == "output_handles" && t.args[1].kind == intTerm
}

// output reads output_handles[0] = buf22.release().
func (r *cppReader) output(s *statement) error {
	if len(s.left) != 4 || s.left[2].kind != numberToken {
		return fail(s.where, "got an output without its number")
	}
	at, err := number(&s.left[2])
	if err != nil || at.kind != intTerm || at.n < 0 || at.n > maxOutputs {
		return fail(s.where, "got output %s, want a number", short(s.left[2].text))
	}
	x := s.right
	n := int(at.n)
	r.most = max(r.most, n+1)
	switch {
	case x.kind == callTerm && strings.HasSuffix(x.text, ".release"):
		name := strings.TrimSuffix(x.text, ".release")
		a, ok := r.names[name]
		if !ok {
			return fail(s.where, "got %s, want a name that stands for something", short(name))
		}
		r.forget(name)
		r.results[n] = a
		return nil
	case x.isOutput():
		r.results[n] = r.results[int(x.args[1].n)]
		return nil
	}
	return fail(s.where, "got the output %s, want a buffer", x)
}

// asserts reads what is checked of inputs and results: their sizes, and what they were made by.
func (r *cppReader) asserts(list []statement) error {
	if err := only(list, "assert_size_stride", "assert_alignment", "assert_numel", "static_cast"); err != nil {
		return err
	}
	for i := range list {
		x := list[i].right
		if x == nil || x.kind != callTerm || x.text != "assert_size_stride" || len(x.args) < 3 {
			continue
		}
		for _, in := range r.inputs {
			if in.name == x.args[0].text && in.sizes == nil {
				in.sizes, in.strides = x.args[1], x.args[2]
			}
		}
		if len(x.args) > 4 && x.args[3].kind == textTerm && x.args[4].kind == nameTerm {
			if err := r.recorded(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// recorded gives the operator that made a result what the wrapper says of both.
func (r *cppReader) recorded(x *term) error {
	a := r.names[x.args[0].text]
	n := r.last
	if n == nil {
		return nil
	}
	for i, v := range n.Outs {
		if v != a.Value {
			continue
		}
		d, err := dtypeOf(x.args[4])
		if err != nil {
			return err
		}
		m, err := r.meta(d, x.args[1], x.args[2])
		if err != nil {
			return err
		}
		op, err := key(x.args[3].text)
		switch {
		case err != nil:
			return fail(x.where, "%v", err)
		case n.Op == program.Proxied:
			n.Text = op
		case !r.lastKnown:
			n.Meta.Key = op
			n.Op, _, _ = strings.Cut(op, ".")
		}
		for len(n.Meta.Recorded) < len(n.Outs) {
			n.Meta.Recorded = append(n.Meta.Recorded, nil)
		}
		n.Meta.Recorded[i] = m
	}
	return nil
}

// finish closes the function.
func (r *cppReader) finish(where place) error {
	items := make([]program.Arg, r.most)
	for i := range items {
		a, ok := r.results[i]
		if !ok {
			return fail(where, "got no output %d of %d", i, r.most)
		}
		items[i] = a
	}
	r.end(items, where)
	return nil
}
