// Package custom makes rules of operators that a user describes: by PyTorch's schema text, the
// results' dtypes and sizes as expressions, and bytes of workspace. Such a rule is compared with
// the schema when it is read, as a built-in one is by its tests.
//
// A result is "float32[n*x_0, 8]": a dtype, or a tensor argument whose dtype it is, and sizes; "x"
// alone is a tensor like x. In expressions an int argument goes by its name, and of a tensor
// argument x, x_0 is the first size and x_numel the number of elements.
package custom

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/internal/expr"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace"
)

// Operator is what a user says of an operator.
type Operator struct {
	Schema    string   // "mylib::twice(Tensor x, int n) -> Tensor"
	Results   []string // one a tensor that the operator makes: none of those that the schema says are arguments
	Workspace string   // bytes while it runs; "" is none
}

// Rule is the operator's rule. The error says what does not fit.
func (o *Operator) Rule() (ops.Rule, error) {
	s, err := schema.Parse(o.Schema)
	if err != nil {
		return ops.Rule{}, err
	}
	if !strings.Contains(s.Name, "::") || strings.HasPrefix(s.Name, "aten::") || strings.HasPrefix(s.Name, "prim::") {
		return ops.Rule{}, fmt.Errorf("got the operator %s, want one of a library of your own, such as mylib::name",
			s.Name)
	}
	r := &rule{schema: s}
	fresh := 0
	for i := range s.Returns {
		t := s.Returns[i].Type
		if t.Kind != schema.Tensor {
			return ops.Rule{}, fmt.Errorf("%s: got a result of type %s, want tensors", s.Name, t)
		}
		if t.Alias == nil {
			fresh++
		}
	}
	if fresh != len(o.Results) {
		return ops.Rule{}, fmt.Errorf("%s: got %d results, want the %d that the schema makes", s.Name, len(o.Results),
			fresh)
	}
	for _, text := range o.Results {
		res, err := r.result(text)
		if err != nil {
			return ops.Rule{}, fmt.Errorf("%s: result %q: %w", s.Name, text, err)
		}
		r.results = append(r.results, res)
	}
	out := ops.Rule{Schema: o.Schema, Out: r.out, Ref: "memspec.yaml ops:"}
	if o.Workspace != "" {
		e, err := r.expression(o.Workspace)
		if err != nil {
			return ops.Rule{}, fmt.Errorf("%s: workspace: %w", s.Name, err)
		}
		r.workspace = &e
		out.Workspace = r.requests
	}
	return out, nil
}

type rule struct {
	schema    *schema.Schema
	results   []result
	workspace *expr.Expr // nil: none
}

// result is how a tensor that the operator makes follows from its arguments.
type result struct {
	dtype tensor.DType
	like  string // an argument whose dtype it has
	whole bool   // and whose sizes
	sizes []expr.Expr
}

func (r *rule) result(text string) (out result, err error) {
	head, sizes, open := strings.Cut(strings.TrimSpace(text), "[")
	if r.kind(head) == schema.Tensor {
		out.like, out.dtype = head, tensor.Undefined
	} else if out.dtype, err = tensor.ParseDType(head); err != nil {
		return out, fmt.Errorf("got %q, want a dtype or a tensor argument", head)
	}
	if !open {
		if out.whole = out.like != ""; !out.whole {
			return out, fmt.Errorf("got no sizes, want them in brackets")
		}
		return out, nil
	}
	sizes, closed := strings.CutSuffix(sizes, "]")
	if !closed {
		return out, fmt.Errorf("got no closing bracket")
	}
	if strings.TrimSpace(sizes) == "" {
		return out, nil
	}
	for _, part := range commas(sizes) {
		e, err := r.expression(part)
		if err != nil {
			return out, err
		}
		out.sizes = append(out.sizes, e)
	}
	return out, nil
}

// commas cuts a list at the commas that stand in no parentheses.
func commas(text string) (parts []string) {
	depth, from := 0, 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, text[from:i])
			from = i + 1
		}
	}
	return append(parts, text[from:])
}

// kind is an argument's type, schema.Any of none.
func (r *rule) kind(name string) schema.Kind {
	if i := r.schema.ArgIndex(name); i >= 0 {
		return r.schema.Args[i].Type.Kind
	}
	return schema.Any
}

// expression reads an expression over the arguments.
func (r *rule) expression(text string) (expr.Expr, error) {
	e, err := expr.Parse(text)
	if err != nil {
		return e, err
	}
	for _, name := range e.Names() {
		if r.kind(name) == schema.Int {
			continue
		}
		arg, part, ok := cutLast(name)
		if _, err := strconv.Atoi(part); !ok || r.kind(arg) != schema.Tensor || err != nil && part != "numel" {
			return e, fmt.Errorf("got %s, want an int argument, or of a tensor argument x a size x_0 or x_numel", name)
		}
	}
	return e, nil
}

func cutLast(name string) (before, after string, ok bool) {
	i := strings.LastIndexByte(name, '_')
	if i < 0 {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}

// values are what expressions may name in a call.
func (r *rule) values(c *ops.Call) map[string]int64 {
	out := map[string]int64{}
	for i := range r.schema.Args {
		name := r.schema.Args[i].Name
		switch v := c.Args[i].(type) {
		case int64:
			out[name] = v
		case *tensor.Tensor:
			out[name+"_numel"] = v.Numel()
			for d, n := range v.Sizes {
				out[fmt.Sprintf("%s_%d", name, d)] = n
			}
		}
	}
	return out
}

func (r *rule) out(c *ops.Call) ([]tensor.Meta, error) {
	values := r.values(c)
	if r.workspace != nil {
		switch n, err := r.workspace.Eval(values); {
		case err != nil:
			return nil, c.Errorf("workspace: %v", err)
		case n < 0:
			return nil, c.Errorf("got a workspace of %d bytes", n)
		}
	}
	var out []tensor.Meta
	next := 0
	for i := range r.schema.Returns {
		if r.schema.Returns[i].Type.Alias != nil {
			t, _ := c.Args[c.Results[i].Arg].(*tensor.Tensor)
			if t == nil {
				return nil, c.Errorf("got no tensor for a result that is an argument")
			}
			out = append(out, t.Meta)
			continue
		}
		m, err := r.results[next].meta(c, values)
		if err != nil {
			return nil, c.Errorf("%v", err)
		}
		next++
		out = append(out, m)
	}
	return out, nil
}

func (res *result) meta(c *ops.Call, values map[string]int64) (tensor.Meta, error) {
	m := tensor.Meta{DType: res.dtype, Device: device(c)}
	if res.like != "" {
		t := c.T(res.like)
		m.DType = t.DType
		if res.whole {
			m.Sizes = t.Sizes
		}
	}
	for _, e := range res.sizes {
		n, err := e.Eval(values)
		if err != nil {
			return m, err
		}
		m.Sizes = append(m.Sizes, n)
	}
	m.Strides = tensor.ContiguousStrides(m.Sizes)
	return m, m.Check()
}

// device is that of the first tensor argument.
func device(c *ops.Call) string {
	for _, v := range c.Args {
		if t, ok := v.(*tensor.Tensor); ok {
			return t.Device
		}
	}
	return "cuda"
}

func (r *rule) requests(c *ops.Call) []workspace.Request {
	n, err := r.workspace.Eval(r.values(c))
	if err != nil || n == 0 { // out has reported the error
		return nil
	}
	return []workspace.Request{{Bytes: units.Bytes(n), Source: "memspec.yaml ops:"}}
}
