package spec

import (
	"math"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/memspec/memspec/engine/tensor"
)

// inputDecl is an input as written, its sizes not yet bound.
type inputDecl struct {
	Input
	node  *yaml.Node
	exprs []placedExpr
}

// placedExpr is an expression with the scalar that it is written in.
type placedExpr struct {
	Expr
	node *yaml.Node
}

// inputs reads a mapping of names to values, or a list of values given by position.
func (r *reader) inputs(e entry) *[]inputDecl {
	out := []inputDecl{}
	if e.val.Kind == yaml.SequenceNode {
		for _, n := range r.list(e.val, "a list") {
			out = r.input(out, "", n)
		}
		return &out
	}
	for _, in := range r.mapping(e.val, "a mapping of names to values, or a list") {
		if !isPath(in.name) {
			r.errorf(in.key, "got %q, want the name of an argument", shorten(in.name))
			continue
		}
		out = r.input(out, in.name, in.val)
	}
	return &out
}

func (r *reader) input(out []inputDecl, name string, n *yaml.Node) []inputDecl {
	r.placed = nil
	v, ok := r.value(n, 0)
	if !ok {
		return out
	}
	return append(out, inputDecl{Input{Name: name, Value: v, Pos: r.at(n)}, n, r.placed})
}

// value reads one value. A text is in the grammar of ParseValue; a list is a list; a mapping with
// dtype or shape is a tensor, any other a dict.
func (r *reader) value(n *yaml.Node, depth int) (Value, bool) {
	if depth > maxInputDepth {
		r.errorf(n, "got values nested deeper than %d", maxInputDepth)
		return nil, false
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return r.scalar(n)
	case yaml.SequenceNode:
		out, ok := List{}, true
		for _, c := range r.list(n, "a list") {
			v, good := r.value(c, depth+1)
			out, ok = append(out, v), ok && good
		}
		return out, ok
	}
	es := r.mapping(n, "a value")
	for _, e := range es {
		if e.name == "dtype" || e.name == "shape" {
			return r.tensor(n, es)
		}
	}
	out, ok := Dict{}, true
	for _, e := range es {
		v, good := r.value(e.val, depth+1)
		out, ok = append(out, DictItem{e.name, v}), ok && good
	}
	return out, ok
}

func (r *reader) scalar(n *yaml.Node) (Value, bool) {
	if isNull(n) {
		return None{}, true
	}
	if n.Tag == "!!float" {
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			r.errorf(n, "got %s, want a finite number", kindName(n))
			return nil, false
		}
		return Float(f), true
	}
	v, err := ParseValue(n.Value)
	if err != nil {
		r.errorIn(n, err.(*InputError).Offset, err)
		return nil, false
	}
	exprs(v, func(e Expr) { r.placed = append(r.placed, placedExpr{e, n}) })
	return v, true
}

var tensorKeys = []string{"dtype", "shape", "memory_format", "device"}

// tensor reads {dtype: float32, shape: [B,3,H,W], memory_format: channels_last}.
func (r *reader) tensor(n *yaml.Node, es []entry) (Value, bool) {
	before := len(r.errs)
	var t Tensor
	var format *yaml.Node
	for _, e := range es {
		switch e.name {
		case "dtype":
			d, err := tensor.ParseDType(e.val.Value)
			if e.val.Kind != yaml.ScalarNode || err != nil {
				r.errorf(e.val, "%s", dtypeError(shorten(e.val.Value)))
			}
			t.DType = d
		case "shape":
			t.Shape = r.shape(e.val)
		case "memory_format":
			if w, ok := r.oneOf(e.val, "contiguous", "channels_last", "channels_last_3d"); ok {
				t.Format, _ = parseFormat(w)
				format = e.val
			}
		case "device":
			if w, ok := r.oneOf(e.val, "cpu", "cuda"); ok && w == "cpu" {
				t.Device = w
			}
		default:
			r.errorf(e.key, "got the key %q, want one of a tensor: %s%s", shorten(e.name), strings.Join(tensorKeys, ", "),
				didYouMean(e.name, tensorKeys))
		}
	}
	if len(r.errs) > before {
		return nil, false
	}
	for _, want := range tensorKeys[:2] {
		if !hasKey(es, want) {
			r.errorf(n, "got a tensor without %s:, want both dtype: and shape:", want)
			return nil, false
		}
	}
	if format != nil {
		if msg := checkFormat(t.Format, len(t.Shape)); msg != "" {
			r.errorf(format, "%s", msg)
			return nil, false
		}
	}
	return t, true
}

func hasKey(es []entry, name string) bool {
	for _, e := range es {
		if e.name == name {
			return true
		}
	}
	return false
}

func (r *reader) shape(n *yaml.Node) []Expr {
	out := []Expr{}
	for _, c := range r.list(n, "a list of sizes such as [B,3,224,224]") {
		s, ok := r.text(c, "a size")
		if !ok {
			continue
		}
		e, err := ParseExpr(s)
		switch {
		case err != nil:
			r.errorIn(c, exprOffset(err), err)
		case e.HasUnit():
			r.errorf(c, "got %s, want a number of elements", shorten(s))
		default:
			out = append(out, e)
			r.placed = append(r.placed, placedExpr{e, c})
		}
	}
	return out
}

// bindInputs gives a case's inputs their sizes.
func (r *reader) bindInputs(c *Case, decls []inputDecl) {
	dims := c.Symbols()
	for _, d := range decls {
		before := len(r.errs)
		for _, e := range d.exprs {
			n, err := e.Eval(dims)
			if err == nil && n < 0 {
				err = e.Errorf("got size %d, want 0 or more", n)
			}
			if err != nil {
				r.errorIn(e.node, e.Offset()+exprOffset(err), err)
			}
		}
		if len(r.errs) > before {
			continue
		}
		in, err := d.Bind(dims)
		if err != nil {
			r.errorf(d.node, "%s", err)
			continue
		}
		c.Inputs = append(c.Inputs, in)
	}
}
