package exec

import (
	"fmt"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// setSite makes a place the current one.
func (m *machine) setSite(op, module string, pos program.Pos, cat tensor.Category) {
	m.tr.Sites = append(m.tr.Sites, trace.Site{Op: op, Module: module, File: pos.File, Line: pos.Line, Phase: m.phase, Category: cat})
	m.site = trace.SiteID(len(m.tr.Sites) - 1)
}

// siteOf makes in's place the current one; an instruction run again for the same module keeps its place.
func (m *machine) siteOf(in *inst) {
	var self *Object
	module := ""
	record := ""
	if at, ok := in.node.Cache.(*inlinedAt); ok {
		self, record = at.module, at.fn.Record
	} else if f := m.frame; f != nil {
		self, record = f.module, f.code.fn.Record
	}
	if self != nil {
		module = self.FQN
	}
	if in.site >= 0 && in.obj == self {
		m.site = trace.SiteID(in.site)
		return
	}
	if !in.posSet {
		in.posSet = true
		in.pos = in.node.Src.Pos()
		if in.pos.File == "" {
			in.pos = program.Pos{File: record, Line: int(in.node.Line)}
		}
	}
	m.setSite(in.node.Op, module, in.pos, tensor.Activation)
	in.site, in.obj = int32(m.site), self
}

// workspaceSite is the current place as the origin of library scratch.
func (m *machine) workspaceSite() trace.SiteID {
	s := m.tr.Site(m.site)
	s.Category = tensor.Workspace
	m.tr.Sites = append(m.tr.Sites, s)
	return trace.SiteID(len(m.tr.Sites) - 1)
}

// placeOf names a place for assume: the user's file and line.
func placeOf(s trace.Site) string { return fmt.Sprintf("%s:%d", s.File, s.Line) }
