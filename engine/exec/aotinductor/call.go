package aotinductor

import (
	"errors"
	"fmt"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// call is a fallback made ready: its rule, and for each argument of the schema the wrapper's, nil
// for the default.
type call struct {
	bound *ops.Bound
	args  []*program.Arg
}

// operator runs one that the wrapper falls back to.
func (w *walker) operator(n *program.Node) error {
	c, err := w.prepare(n)
	if err != nil {
		return err
	}
	if c == nil {
		return w.missing(n)
	}
	args := make([]any, len(c.args))
	for i, a := range c.args {
		if a == nil {
			args[i] = c.bound.Default(i)
			continue
		}
		if args[i], err = w.argument(a, c.bound.Schema.Args[i].Type); err != nil {
			return fmt.Errorf("%s: %s: %w", n.Key(), c.bound.Schema.Args[i].Name, err)
		}
		if args[i] != nil && !c.bound.Takes(i, args[i]) {
			return fmt.Errorf("%s: got %s as %s, want %s", n.Key(), ops.TypeName(args[i]), c.bound.Schema.Args[i].Name,
				c.bound.Schema.Args[i].Type)
		}
	}
	v, err := w.Apply(c.bound, args)
	for _, a := range args {
		if l, ok := a.(*ops.List); ok {
			w.Drop(l)
		}
	}
	if missing, ok := exec.Missing(err); ok {
		w.Missed(missing)
		return w.missing(n)
	}
	if err != nil {
		return err
	}
	return w.give(n, v)
}

// prepare finds a node's rule and sets its arguments in the schema's order; nil where there is no
// rule.
func (w *walker) prepare(n *program.Node) (*call, error) {
	b, ok := w.Table().Lookup(n.Key())
	if !ok {
		return nil, nil
	}
	c := &call{bound: b, args: make([]*program.Arg, len(b.Schema.Args))}
	next := 0
	for i := 0; i < len(n.Args); i++ {
		a := &n.Args[i]
		if a.Name != "" {
			at := b.Schema.ArgIndex(a.Name)
			if at < 0 {
				return nil, fmt.Errorf("got the argument %s, want one of %s", a.Name, b.Schema.Key())
			}
			c.args[at] = a
			continue
		}
		if next >= len(c.args) {
			return nil, fmt.Errorf("got more arguments than the %d of %s: the package is of another PyTorch",
				len(c.args), b.Schema.Key())
		}
		c.args[next] = a
		// nullptr and the length 0
		if isNone(a) && counted(b.Schema.Args[next].Type) && i+1 < len(n.Args) && isZero(&n.Args[i+1]) {
			i++
		}
		next++
	}
	for i := range c.args {
		if p := &b.Schema.Args[i]; c.args[i] == nil && !p.HasDefault {
			return nil, fmt.Errorf("got no argument %s of %s: the package is of another PyTorch", p.Name,
				b.Schema.Key())
		}
	}
	return c, nil
}

func isNone(a *program.Arg) bool { return a.Value == nil && a.Items == nil && a.Const == nil }

func isZero(a *program.Arg) bool {
	n, ok := a.Const.(int64)
	return ok && n == 0
}

// counted says whether C passes a length or number behind a value of the type.
func counted(t *schema.Type) bool {
	if t.Kind == schema.Optional {
		t = t.Elems[0]
	}
	return t.Kind == schema.List || t.Kind == schema.Device
}

// argument is what an argument gives a parameter of type t; a list is held once.
func (w *walker) argument(a *program.Arg, t *schema.Type) (any, error) {
	if t.Kind == schema.Optional {
		if isNone(a) {
			return nil, nil
		}
		t = t.Elems[0]
	}
	switch {
	case isNone(a) && t.Kind == schema.List:
		return &ops.List{Elem: t.Elems[0].Kind, Refs: 1}, nil
	case isNone(a):
		return nil, fmt.Errorf("got nothing, want %s", t)
	case a.Items != nil:
		if t.Kind != schema.List {
			return nil, fmt.Errorf("got a list, want %s", t)
		}
		l := &ops.List{Elem: t.Elems[0].Kind, Refs: 1}
		for i := range a.Items {
			v, err := w.argument(&a.Items[i], t.Elems[0])
			if err != nil {
				return nil, err
			}
			w.Hold(v)
			l.Items = append(l.Items, v)
		}
		return l, nil
	case a.Value != nil:
		return w.tensor(a)
	}
	return w.number(a.Const, t)
}

// number is a literal as a parameter of type t takes it: C has numbers for flags.
func (w *walker) number(v any, t *schema.Type) (any, error) {
	switch v := v.(type) {
	case *program.State:
		return w.weights[v], nil
	case program.Device:
		return ops.Device(v), nil
	case program.Size:
		if u, ok := w.unknown(v); ok {
			return u, nil
		}
		return v.Eval(w.symbols)
	case int64:
		switch t.Kind {
		case schema.Bool:
			return v != 0, nil
		case schema.Float:
			return float64(v), nil
		}
	case float64:
		if t.Kind == schema.Int {
			return nil, errors.New("got a fraction, want a whole number")
		}
	}
	return v, nil
}

// missing gives an operator without a rule its results as the wrapper says of them; the account is
// incomplete.
func (w *walker) missing(n *program.Node) error {
	name := n.Key()
	if n.Op == program.Proxied {
		name = n.Text
	}
	w.Unsupported(name, trace.NoRule)
	for i, v := range n.Outs {
		if i >= len(n.Recorded()) || n.Recorded()[i] == nil {
			w.UnknownTensor()
			continue
		}
		if w.readLater(n.Recorded()[i]) {
			w.UnknownTensor()
			continue
		}
		t, err := w.recorded(n, i)
		if err != nil {
			return err
		}
		w.put(v, t)
	}
	return nil
}

// recorded makes a result as the wrapper says of it.
func (w *walker) recorded(n *program.Node, i int) (*tensor.Tensor, error) {
	m, err := n.Recorded()[i].Bind(w.symbols)
	if err != nil {
		return nil, err
	}
	return w.NewTensor(m, tensor.Activation)
}

// give names the results of an operator; what has no name is released.
func (w *walker) give(n *program.Node, v any) error {
	if len(n.Outs) == 0 {
		w.Drop(v)
		return nil
	}
	items := ops.Members(v)
	if t, single := v.(*tensor.Tensor); single {
		if err := w.same(n, 0, t); err != nil {
			return err
		}
		w.put(n.Outs[0], v)
		return nil
	}
	if t, ok := v.(*ops.Tuple); ok { // a plain tuple, whatever names the schema has for results
		t.Struct = false
	}
	if len(n.Outs) == 1 {
		w.put(n.Outs[0], v)
		return nil
	}
	if len(items) < len(n.Outs) {
		return fmt.Errorf("%s: got %d results, want %d", n.Key(), len(items), len(n.Outs))
	}
	for i, out := range n.Outs {
		t, ok := items[i].(*tensor.Tensor)
		if !ok {
			continue // a result that is no tensor, or none
		}
		if err := w.same(n, i, t); err != nil {
			return err
		}
		w.Hold(t)
		w.put(out, t)
	}
	w.Drop(v)
	return nil
}

// same compares a result with what the wrapper asserts of it.
func (w *walker) same(n *program.Node, i int, t *tensor.Tensor) error {
	if i >= len(n.Recorded()) || n.Recorded()[i] == nil {
		return nil
	}
	if w.readLater(n.Recorded()[i]) { // its sizes are read off it
		return nil
	}
	want, err := n.Recorded()[i].Bind(w.symbols)
	if err != nil {
		return err
	}
	if t.StorageBytes() != want.StorageBytes() {
		return fmt.Errorf("%s: got result %d of %d bytes, the package says %d: another PyTorch wrote it", n.Key(), i,
			int64(t.StorageBytes()), int64(want.StorageBytes()))
	}
	return nil
}

func newTuple(n int) *ops.Tuple { return &ops.Tuple{Items: make([]any, 0, n), Refs: 1} }
