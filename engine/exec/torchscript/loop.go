package torchscript

import (
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/program"
)

// runLoop runs a for or while loop.
func (m *interp) runLoop(f *frame, in *inst) error {
	n := in.node
	rounds, err := m.Rounds(loopSite{m, f, in}, m.arg(f, &n.Args[0]))
	if err != nil {
		return m.fail(err)
	}
	cond := m.arg(f, &n.Args[1])
	carried := make([]any, len(n.Args)-2)
	for i := range carried {
		carried[i] = m.arg(f, &n.Args[i+2])
		m.Hold(carried[i])
	}
	m.releaseArgs(f, in)
	b := in.blocks[0]
	for {
		goOn, err := rounds.Next(cond, carried)
		if err != nil {
			return m.fail(err)
		}
		if !goOn {
			break
		}
		if err := m.Step(); err != nil {
			return m.fail(err)
		}
		f.put(b.src.Params[0].ID, rounds.Index())
		for j, p := range b.src.Params[1:] {
			f.put(p.ID, carried[j])
		}
		if f.names != nil {
			f.names.EnterRound(int(in.num))
		}
		if err := m.runBlock(f, b); err != nil {
			rounds.Failed()
			return err
		} else if f.done {
			return nil
		}
		if f.names != nil {
			f.names.LeaveBranch(int(in.num))
		}
		outs := make([]any, len(b.src.Outs))
		m.blockOuts(f, b, outs)
		cond, carried = outs[0], outs[1:]
		for _, p := range b.src.Params {
			m.clear(f, p.ID)
		}
		rounds.Done()
	}
	if f.names != nil {
		f.names.LeaveLoop(int(in.num))
	}
	for i, out := range n.Outs {
		f.put(out.ID, carried[i])
		if f.names != nil {
			f.names.Made(out.ID, carried[i])
		}
	}
	return nil
}

// loopSite is a loop as the machine asks about it.
type loopSite struct {
	m  *interp
	f  *frame
	in *inst
}

func (l loopSite) Enter() { l.m.siteOf(l.in) }

func (l loopSite) Branch() exec.Branch { return exec.Branch{Func: l.f.code.fn, Node: l.in.num} }

func (l loopSite) PositionOnly() bool {
	b := l.in.blocks[0].src
	return usedAsPosition(b, b.Params[0])
}

// usedAsPosition says whether all that a block does with a value is to select a position of a
// tensor by it.
func usedAsPosition(b *program.Block, v *program.Value) bool {
	for _, n := range b.Nodes {
		for i := range n.Args {
			if n.Args[i].Value == v && (n.Op != "aten::select" || i != 2) {
				return false
			}
		}
		for _, sub := range n.Blocks {
			if !usedAsPosition(sub, v) {
				return false
			}
		}
	}
	for i := range b.Outs {
		if b.Outs[i].Value == v {
			return false
		}
	}
	return true
}
