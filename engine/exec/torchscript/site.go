package torchscript

import (
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/trace"
)

// siteOf makes in's place the current one; an instruction run again for the same module keeps its
// place.
func (m *interp) siteOf(in *inst) {
	var self *Object
	record := ""
	site := &in.site
	if at := in.at; at != nil {
		self, _ = at.Module.(*Object)
		record = at.Func.Record
	} else if f := m.frame; f != nil {
		self, record = f.module, f.code.fn.Record
		site = &f.sites[in.num]
	}
	if *site > 0 {
		m.Sites.EnterAgain(trace.SiteID(*site - 1))
		return
	}
	module := ""
	if self != nil {
		module = self.FQN
	}
	pos := m.userLine(in)
	if pos.File == "" {
		pos = program.Pos{File: record, Line: int(in.node.Where.Line)}
	}
	*site = int32(m.Sites.Enter(in.node.Op, module, pos)) + 1
}

// userLine is where the user's own code stands at an instruction: inside PyTorch's modules and
// functions it is the line that called them. The range of a traced operation is a stack, of which
// Pos takes that line.
func (m *interp) userLine(in *inst) program.Pos {
	where := &in.node.Where
	if at := in.at; at != nil {
		for ; at.Parent != nil && at.Func.Library(); at = at.Parent {
			if !at.Parent.Func.Library() {
				where = &at.Node.Where
			}
		}
	} else if f := m.frame; f != nil && f.from != nil {
		where = &f.from.node.Where
	}
	if pos := where.Pos(); pos.File != "" {
		return pos
	}
	return in.node.Where.Pos()
}

// callerOf is the instruction of the user's that a frame about to run c was called from, through
// PyTorch's own code; nil where c is the user's.
func (m *interp) callerOf(c *code) *inst {
	switch f := m.frame; {
	case !c.pytorch || f == nil:
		return nil
	case f.code.pytorch:
		return f.from
	default:
		return f.line
	}
}

// codeSites are the places that a function's instructions have had for a module and a caller, each
// one more than its number; 0 is none yet.
type codeSites struct {
	code  *code
	from  *inst
	sites []int32
}

// sitesOf are the places of c's instructions for a module; those of functions that belong to no
// module are kept under no object.
func (m *interp) sitesOf(c *code, from *inst, module *Object) []int32 {
	if module == nil {
		module = &m.noModule
	}
	for i := range module.sites {
		if module.sites[i].code == c && module.sites[i].from == from {
			return module.sites[i].sites
		}
	}
	s := codeSites{c, from, make([]int32, c.count)}
	if module.sites == nil {
		module.sites = make([]codeSites, 0, 2)
	}
	module.sites = append(module.sites, s)
	return s.sites
}
