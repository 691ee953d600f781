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

// number is one that the code reads off tensor data.
type number struct {
	least, most int64
	sizes       bool // some size is written with it
	value       any  // as it was read last; nil of one that was not
}

// readsOf are the numbers that a program reads, by name.
func readsOf(p *program.Program, g *program.Graph) map[string]*number {
	var out map[string]*number
	for _, s := range p.Symbols {
		if s.Unbacked {
			if out == nil {
				out = map[string]*number{}
			}
			out[s.Name] = &number{least: s.Min, most: s.Max}
		}
	}
	if out != nil {
		markSizes(g.Body, out)
	}
	return out
}

// markSizes finds which of the numbers sizes are written with.
func markSizes(b *program.Block, reads map[string]*number) {
	for n := range b.All() {
		for _, m := range n.Recorded() {
			if m == nil {
				continue
			}
			for _, sizes := range [][]program.Size{m.Sizes, m.Strides, {m.Offset}} {
				for _, s := range sizes {
					for _, name := range s.Names() {
						if r := reads[name]; r != nil {
							r.sizes = true
						}
					}
				}
			}
		}
	}
}

// readLater says whether a tensor's sizes are written with numbers that are read of it later.
func (w *walker) readLater(m *program.TensorMeta) bool {
	for _, s := range m.Sizes {
		for _, name := range s.Names() {
			if r := w.reads[name]; r != nil {
				if _, known := w.symbols[name]; !known {
					return true
				}
			}
		}
	}
	return false
}

// unknown is a number that is written with one that was read and is not known.
func (w *walker) unknown(s program.Size) (any, bool) {
	for _, name := range s.Names() {
		if r := w.reads[name]; r != nil {
			if _, known := w.symbols[name]; known {
				continue
			}
			if r.value != nil { // what it is read off says whether it is a fraction
				return r.value, true
			}
			return ops.NewUnbacked("aten::item", schema.Int), true
		}
	}
	return nil, false
}

// assign gives a name another content.
func (w *walker) assign(n *program.Node) error {
	to, from := n.Args[0].Value.ID, n.Args[1].Value.ID
	if w.regs[from] == nil {
		return fmt.Errorf("got %s, which names no tensor here", nameOf(&n.Args[1]))
	}
	if w.regs[to] != nil {
		w.Drop(w.regs[to])
	}
	w.regs[to], w.regs[from] = w.regs[from], nil
	return nil
}

// item reads a tensor's value. One that sizes are written with is taken at an end of its range, and
// the account is incomplete where it has none.
func (w *walker) item(n *program.Node) error {
	t, err := w.tensor(&n.Args[0])
	if err != nil {
		return err
	}
	v := ops.Item(t, tensor.Undefined)
	r := w.reads[n.Text]
	if _, unknown := v.(ops.Unbacked); unknown && r != nil && r.sizes {
		v = w.sized(ops.Between("aten::item", max(r.least, 0), r.most)) // no most is ops.NoMax
	}
	if r != nil {
		r.value = v
		delete(w.symbols, n.Text)
		if size, ok := v.(int64); ok {
			w.symbols[n.Text] = size
		}
	}
	w.put(n.Outs[0], v)
	if w.readOff == nil {
		w.readOff = map[*program.Value]*program.Value{}
	}
	w.readOff[n.Outs[0]] = n.Args[0].Value
	return nil
}

// sized is a size that depends on tensor data.
func (w *walker) sized(u ops.Unbacked) int64 {
	if u.IsSize() {
		return w.Bound(u)
	}
	if size, ok := w.Assumed(); ok {
		return max(size, u.Min)
	}
	w.Unsupported("aten::item", trace.ReadsData)
	return u.Min
}

// sizeRead reads a size of a tensor, which its operator's rule gives.
func (w *walker) sizeRead(n *program.Node) error {
	t, err := w.tensor(&n.Args[0])
	if err != nil {
		return err
	}
	dim, ok := n.Args[1].Const.(int64)
	if !ok || dim < 0 || dim >= int64(len(t.Sizes)) {
		return fmt.Errorf("got dimension %v of %s, want one of %d", n.Args[1].Const, nameOf(&n.Args[0]), len(t.Sizes))
	}
	w.symbols[n.Text] = t.Sizes[dim]
	return nil
}

// control runs a node that has blocks; left says that it left its loop.
func (w *walker) control(n *program.Node) (left bool, err error) {
	switch n.Op {
	case program.Choice:
		return w.choose(n)
	case program.RoundsOf:
		return false, w.loop(n)
	case program.LeaveLoop:
		return w.leave(n)
	}
	return false, fmt.Errorf("got %s with blocks, want code of a wrapper", n.Op)
}

// choose goes one way of two.
func (w *walker) choose(n *program.Node) (bool, error) {
	is, _ := n.Args[1].Const.(int64)
	value := w.regs[n.Args[0].Value.ID]
	var equal bool
	switch v := value.(type) {
	case ops.Unbacked:
		w.place(n)
		// of nought, the way that is reported is that of all other values
		equal = w.Choose(w.branch(&n.Args[0], is)) == (is != 0)
		w.Sites.Leave()
	case bool:
		equal = v == (is != 0)
	case int64:
		equal = v == is
	default:
		return false, fmt.Errorf("got %s to choose by, want a value", ops.TypeName(v))
	}
	block := n.Blocks[1]
	if equal {
		block = n.Blocks[0]
	}
	end, err := w.run(block)
	return end != nil, err
}

// branch is where one value decides: all that it is read off the same name goes one way.
func (w *walker) branch(value *program.Arg, is int64) exec.Branch {
	return exec.Branch{Func: w.readOff[value.Value], Node: int32(is)}
}

// loopSite is a loop as the machine asks about it.
type loopSite struct {
	w    *walker
	node *program.Node
	exit *program.Node
}

func (l loopSite) Enter()              { l.w.place(l.node) }
func (l loopSite) Branch() exec.Branch { return l.w.branch(&l.exit.Args[0], 0) }
func (l loopSite) PositionOnly() bool  { return false }

// loop runs rounds until what decides them is nought.
func (w *walker) loop(n *program.Node) error {
	var exit *program.Node
	for _, inner := range n.Blocks[0].Nodes {
		if inner.Op == program.LeaveLoop {
			exit = inner
		}
	}
	if exit == nil {
		return errors.New("got a loop that nothing leaves")
	}
	outer := w.rounds
	defer func() { w.rounds = outer }()
	w.rounds, _ = w.Rounds(loopSite{w, n, exit}, nil)
	for {
		end, err := w.run(n.Blocks[0])
		if err != nil {
			w.rounds.Failed()
			return err
		}
		if end != nil {
			return nil
		}
		w.rounds.Done()
	}
}

// leave goes out of a loop where its value is nought.
func (w *walker) leave(n *program.Node) (bool, error) {
	value := w.regs[n.Args[0].Value.ID]
	if w.rounds == nil {
		return false, errors.New("got a way out of a loop outside of one")
	}
	again, err := w.rounds.Next(value, nil)
	if err != nil || again {
		return false, err
	}
	_, err = w.run(n.Blocks[0])
	return true, err
}
