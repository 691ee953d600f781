// Package coverage lists the operators of a program that have no rule.
package coverage

import (
	"strings"

	"github.com/memspec/memspec/engine/exec/aotinductor"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/report"
)

// Missing returns the operators of the program that have no rule under any overload, in the order
// they are met, with how often the code names them. It needs no inputs: it looks at everything that
// forward can reach, also at what a run would not.
func Missing(p *program.Program) ([]report.Unsupported, error) {
	m := &missing{program: p, table: builtin.Table(), index: map[string]int{}}
	if err := p.Reach(func(f *program.Func, g *program.Graph) { m.block(f, g.Body) }); err != nil {
		return nil, err
	}
	return m.found, nil
}

type missing struct {
	program *program.Program
	table   *ops.Table
	index   map[string]int // of found, by operator
	found   []report.Unsupported
}

func (m *missing) block(f *program.Func, b *program.Block) {
	for _, n := range b.Nodes {
		m.operator(f, n)
		for _, inner := range n.Blocks {
			m.block(f, inner)
		}
	}
}

// operator notes an operator without a rule. The prim:: nodes are exec's.
func (m *missing) operator(f *program.Func, n *program.Node) {
	if strings.HasPrefix(n.Op, "prim::") || m.table.Has(n.Op) || fx.Runs(n.Op) || aotinductor.Runs(n.Op) {
		return
	}
	i, ok := m.index[n.Op]
	if !ok {
		i = len(m.found)
		m.index[n.Op] = i
		pos := n.Where.Pos()
		if pos.File == "" {
			pos = program.Pos{File: f.Record, Line: int(n.Where.Line)}
		}
		m.found = append(m.found, report.Unsupported{Op: n.Op,
			First: report.Site{Op: n.Op, Module: moduleOf(m.program, f), File: pos.File, Line: pos.Line}})
	}
	m.found[i].Count++
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
