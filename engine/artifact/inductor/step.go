package inductor

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// A training step is two graphs: torch/_functorch/_aot_autograd/runtime_wrappers.py calls the forward pass, keeps what it returns behind the model's own
// outputs for the backward pass, whose first arguments they are in the same order, and gives up its hold on them before it calls the backward pass; so
// they end where that deletes them. The gradients of the outputs are the backward pass's last arguments, which the caller makes and holds.

// tangent begins the names of the outputs' gradients (torch/_functorch/_aot_autograd/graph_compile.py).
const tangent = "tangents_"

// step reads the backward pass behind the forward pass, and returns what the caller has in the end: the model's outputs and the gradients.
func (r *pyReader) step(p pass, returned []program.Arg) ([]program.Arg, place, error) {
	inputs := r.build.params
	r.close(r.module.call[len(r.module.call)-1].where())
	r.node(program.BackwardPass, p.where)
	r.backward = true
	first := len(r.body.Nodes)
	all := returned
	next := &pyReader{graph: r.graph, build: r.build, before: &returned}
	next.names, next.numbers, next.arrays = map[string]program.Arg{}, map[string]*term{}, map[string]*term{}
	next.origin = ""
	last, err := next.read(p)
	if err != nil {
		return nil, place{}, err
	}
	if len(next.returns) != len(inputs) {
		return nil, place{}, fail(last, "got %d gradients, want one of each of the %d arguments of the forward pass, or None", len(next.returns), len(inputs))
	}
	next.close(last)
	results := append([]program.Arg{}, returned...) // less those that were handed over
	for i, a := range next.returns {
		if a.Value != nil && inputs[i].Meta == nil {
			return nil, place{}, fail(last, "got a gradient of %s, which is a number, want None", inputs[i].Name)
		}
	}
	next.classify(all, first)
	return append(results, next.gradients(inputs, last)...), last, nil
}

// classify says what each storage is for, in the words of PyTorch's memory profiler: what the forward pass returns is an activation, outputs and what
// is saved for the backward pass, what the backward pass returns a gradient, and all else temporary.
func (r *pyReader) classify(returned []program.Arg, first int) {
	for _, n := range r.body.Nodes {
		if n.Told != nil {
			n.Told.Class = tensor.Temporary
		}
	}
	for _, a := range returned {
		if n := r.made[a.Value]; n != nil {
			n.Told.Class = tensor.Activation
		}
	}
	for _, a := range r.returns {
		if n := r.made[a.Value]; slices.Contains(r.body.Nodes[first:], n) {
			n.Told.Class = tensor.Gradient
		}
	}
}

// gradients gives each argument of the forward pass its gradient, in the order in which autograd's engine comes to them.
func (r *pyReader) gradients(inputs []program.Param, where place) []program.Arg {
	var of []int // arguments with a gradient
	holders := map[*program.Value]int{}
	for i, a := range r.returns {
		if a.Value != nil {
			of = append(of, i)
			holders[a.Value]++
		}
	}
	out := make([]program.Arg, len(of))
	for _, at := range engineOrder(len(of)) {
		a := r.returns[of[at]]
		held := holders[a.Value] > 1 || slices.Contains(r.build.values, a.Value)
		if held { // by another argument, or by the caller
			holders[a.Value]--
			n := r.node(program.BufferAlias, where)
			n.Args = []program.Arg{a}
			v := r.value(a.Value.Name)
			n.Outs = []*program.Value{v}
			a = program.Arg{Value: v}
		}
		n := r.node(program.BufferGradient, where)
		n.Text = "gradient of " + inputs[of[at]].Name
		n.Args = []program.Arg{a, {Const: held}}
		n.Told = &program.Told{Recorded: []*program.TensorMeta{inputs[of[at]].Meta}, Class: tensor.Gradient}
		v := r.value("gradient of " + inputs[of[at]].Name)
		n.Outs = []*program.Value{v}
		out[at] = program.Arg{Value: v}
	}
	return out
}

// engineOrder is the order in which autograd's engine runs n tasks that become ready together and are of the same priority, as those that give
// leaves their gradients are: its heap's (torch/csrc/autograd/engine.cpp ReadyQueue, a std::priority_queue), in which the last moves to the hole that the
// first leaves, and the second of two equal children moves up (libstdc++ __adjust_heap).
func engineOrder(n int) []int {
	heap := make([]int, n)
	for i := range heap {
		heap[i] = i
	}
	out := make([]int, 0, n)
	for len(heap) > 0 {
		out = append(out, heap[0])
		last := heap[len(heap)-1]
		heap = heap[:len(heap)-1]
		if len(heap) == 0 {
			break
		}
		hole := 0
		for 2*hole+2 < len(heap) {
			heap[hole] = heap[2*hole+2]
			hole = 2*hole + 2
		}
		if 2*hole+1 < len(heap) { // the last parent has one child
			heap[hole] = heap[2*hole+1]
			hole = 2*hole + 1
		}
		heap[hole] = last
	}
	return out
}

// hand gives the arguments of a backward pass that are no gradients the last tensors that its forward pass returned, which leaves the outputs.
func (r *pyReader) hand(names []token) error {
	kept := 0
	for _, t := range names {
		if x := r.examples[t.text]; x != nil && x.kind != intTerm && !strings.HasPrefix(t.text, tangent) {
			kept++
		}
	}
	if kept > len(*r.before) {
		return fail(names[0].where, "got a backward pass of %d saved tensors, want no more than the %d that the forward pass returns", kept, len(*r.before))
	}
	r.given = r.handed(*r.before, kept, names[0].where)
	*r.before = (*r.before)[:len(*r.before)-kept]
	return nil
}

// handed are the last tensors that the forward pass returns, each a value of its own: one that it returns twice, or that the caller holds too, is held twice.
func (r *pyReader) handed(returned []program.Arg, kept int, where place) []program.Arg {
	outputs := returned[:len(returned)-kept]
	taken := map[*program.Value]bool{}
	for _, a := range outputs {
		taken[a.Value] = true
	}
	var out []program.Arg
	for _, a := range returned[len(outputs):] {
		if taken[a.Value] {
			n := r.node(program.BufferAlias, where)
			n.Args = []program.Arg{a}
			v := r.value(a.Value.Name)
			n.Outs = []*program.Value{v}
			r.made[v] = r.made[a.Value]
			a = program.Arg{Value: v}
		}
		taken[a.Value] = true
		out = append(out, a)
	}
	return out
}
