package program

// Reach calls visit with every function that forward can reach and its graph, also with those that
// a run would not call. The object of a method call is known at run time only: every method of that
// name is reached.
func (p *Program) Reach(visit func(*Func, *Graph)) error {
	r := reach{byMethod: map[string][]*Func{}, seen: map[*Func]bool{}}
	for _, c := range p.Classes {
		for _, f := range c.Methods {
			r.byMethod[f.Method] = append(r.byMethod[f.Method], f)
		}
	}
	r.push(p.Entry)
	for len(r.queue) > 0 {
		f := r.queue[0]
		r.queue = r.queue[1:]
		g, err := f.Graph()
		if err != nil {
			return err
		}
		visit(f, g)
		r.calls(g.Body)
	}
	return nil
}

type reach struct {
	byMethod map[string][]*Func
	queue    []*Func
	seen     map[*Func]bool
}

func (r *reach) push(f *Func) {
	if f != nil && !r.seen[f] {
		r.seen[f] = true
		r.queue = append(r.queue, f)
	}
}

// calls pushes what the nodes of a block call.
func (r *reach) calls(b *Block) {
	for _, n := range b.Nodes {
		switch n.Op {
		case "prim::CallMethod":
			for _, f := range r.byMethod[n.Text] {
				r.push(f)
			}
		case "prim::CallFunction":
			r.push(n.Callee)
		case "prim::CreateObject":
			if n.Class != nil {
				r.push(n.Class.Method("__init__"))
			}
		}
		for _, inner := range n.Blocks {
			r.calls(inner)
		}
	}
}
