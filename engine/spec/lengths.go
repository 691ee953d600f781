package spec

import (
	"slices"

	"gopkg.in/yaml.v3"
)

// lengthsDecl is a size of a dim for each iteration, as written.
type lengthsDecl struct {
	name   string
	key    *yaml.Node
	values []int64
}

const lengthsWant = "a mapping of dims to a size for each iteration, such as {T: [128, 120, 128]}"

// lengths reads the sizes that dims have in the iterations.
func (r *reader) lengths(e entry) *[]lengthsDecl {
	out := []lengthsDecl{}
	for _, l := range r.mapping(e.val, lengthsWant) {
		decl := lengthsDecl{name: l.name, key: l.key}
		for _, n := range r.list(l.val, "a size for each iteration, such as [128, 120, 128]") {
			if v, ok := r.whole(n, 0); ok {
				decl.values = append(decl.values, v)
			}
		}
		if n := len(decl.values); l.val.Kind == yaml.SequenceNode && (n < 2 || n > maxIterations) {
			r.errorf(l.val, "got %d sizes, want one for each of 2 to %d iterations", n, maxIterations)
			continue
		}
		out = append(out, decl)
	}
	return &out
}

// varies reads the dims whose sizes differ between the iterations of a real run.
func (r *reader) varies(e entry) *[]string {
	var out []string
	for _, n := range r.list(e.val, "a list of dims such as [T]") {
		if s, ok := r.text(n, "the name of a dim"); ok {
			out = append(out, s)
		}
	}
	return &out
}

// withLengths adds to dims those that lengths alone name: their value is the largest size.
func withLengths(dims []dimDecl, named []bool, lengths *[]lengthsDecl) ([]dimDecl, []bool) {
	if lengths == nil {
		return dims, named
	}
	for _, l := range *lengths {
		if len(l.values) > 0 && !slices.ContainsFunc(dims, func(d dimDecl) bool { return d.name == l.name }) {
			dims, named = append(dims, dimDecl{name: l.name, key: l.key, values: []int64{slices.Max(l.values)}}),
				append(named, false)
		}
	}
	return dims, named
}

// bindLengths gives a case the inputs of each iteration.
func (d *document) bindLengths(c *Case, s settings) {
	if s.varies != nil {
		c.Varies = *s.varies
	}
	if s.lengths == nil || len(*s.lengths) == 0 {
		return
	}
	all := *s.lengths
	first := all[0]
	switch {
	case c.Artifact != "":
		d.errorf(first.key, "got lengths: beside artifact:, want a source: alone, which is run")
		return
	case s.inputs == nil:
		d.errorf(first.key, "got lengths: without inputs:, want inputs that name %s", first.name)
		return
	}
	lengths := map[string][]int64{}
	for _, l := range all {
		lengths[l.name] = l.values
		if len(l.values) != len(first.values) {
			d.errorf(l.key, "got %d sizes of %s, want %d, as %s has: one for each iteration", len(l.values), l.name,
				len(first.values), first.name)
			return
		}
		if !slices.ContainsFunc(*s.inputs, func(in inputDecl) bool {
			return slices.ContainsFunc(in.exprs, func(e placedExpr) bool { return slices.Contains(e.Names(), l.name) })
		}) {
			d.errorf(l.key, "got sizes of %s, which no input of the case names", l.name)
			return
		}
	}
	if t := c.Training; t != nil {
		if _, written := s.sets["iterations"]; written && t.Iterations != len(first.values) {
			d.errorf(first.key, "got %d sizes of %s beside iterations: %d, want as many", len(first.values), first.name,
				t.Iterations)
			return
		}
		t.Iterations = len(first.values)
	}
	c.Lengths = lengths
	for i := range first.values {
		at := Case{Dims: slices.Clone(c.Dims)}
		for k, dim := range c.Dims {
			if values, ok := lengths[dim.Name]; ok {
				at.Dims[k].Value = values[i]
			}
		}
		d.bindInputs(&at, *s.inputs)
		c.IterationInputs = append(c.IterationInputs, at.Inputs)
	}
}
