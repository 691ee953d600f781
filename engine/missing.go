package engine

import (
	"strings"

	"github.com/memspec/memspec/engine/exec/aotinductor"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/report"
)

// Missing lists the operators of the model that have no rule under any overload, in the order they are met, with how often the code names
// them. It needs no inputs: it walks everything that forward can reach, also what a run would not.
func (m *Model) Missing() ([]report.Unsupported, error) {
	p, err := m.Program()
	if err != nil {
		return nil, err
	}
	w := &walker{program: p, table: builtin.Table(), seen: map[*program.Func]bool{}, index: map[string]int{}}
	err = w.walk()
	if err != nil {
		return nil, err
	}
	return w.missing, nil
}

// walk goes through everything that forward can reach.
func (w *walker) walk() error {
	p := w.program
	w.byMethod = map[string][]*program.Func{}
	for _, c := range p.Classes {
		for _, f := range c.Methods {
			w.byMethod[f.Method] = append(w.byMethod[f.Method], f)
		}
	}
	if p.Entry != nil {
		w.push(p.Entry)
	}
	for len(w.queue) > 0 {
		f := w.queue[0]
		w.queue = w.queue[1:]
		g, err := f.Graph()
		if err != nil {
			return err
		}
		if w.reached != nil {
			w.reached(g)
		}
		w.block(f, g.Body)
	}
	return nil
}

type walker struct {
	program  *program.Program
	table    *ops.Table // nil: operators are passed over
	reached  func(*program.Graph)
	byMethod map[string][]*program.Func
	queue    []*program.Func
	seen     map[*program.Func]bool
	index    map[string]int
	missing  []report.Unsupported
}

func (w *walker) push(f *program.Func) {
	if f != nil && !w.seen[f] {
		w.seen[f] = true
		w.queue = append(w.queue, f)
	}
}

func (w *walker) block(f *program.Func, b *program.Block) {
	for _, n := range b.Nodes {
		switch n.Op {
		case "prim::CallMethod":
			// the object is known at run time only: every method of that name may be meant
			for _, m := range w.byMethod[n.Text] {
				w.push(m)
			}
		case "prim::CallFunction":
			w.push(n.Callee)
		case "prim::CreateObject":
			if n.Class != nil {
				w.push(n.Class.Method("__init__"))
			}
		default:
			if w.table != nil {
				w.operator(f, n)
			}
		}
		for _, inner := range n.Blocks {
			w.block(f, inner)
		}
	}
}

// operator notes an operator without a rule. The prim:: nodes are exec's own.
func (w *walker) operator(f *program.Func, n *program.Node) {
	if strings.HasPrefix(n.Op, "prim::") || w.table.Has(n.Op) || fx.Runs(n.Op) || aotinductor.Runs(n.Op) {
		return
	}
	i, ok := w.index[n.Op]
	if !ok {
		i = len(w.missing)
		w.index[n.Op] = i
		pos := n.Where.Pos()
		if pos.File == "" {
			pos = program.Pos{File: f.Record, Line: int(n.Where.Line)}
		}
		w.missing = append(w.missing, report.Unsupported{Op: n.Op, First: report.Site{Op: n.Op, Module: moduleOf(w.program, f), File: pos.File, Line: pos.Line}})
	}
	w.missing[i].Count++
}

// moduleOf is the path of the first module whose class f belongs to, "" where it is no module's.
func moduleOf(p *program.Program, f *program.Func) string {
	if f.Class == nil {
		return ""
	}
	for _, m := range p.Modules {
		if m.Object.Class == f.Class {
			return m.FQN
		}
	}
	return ""
}
