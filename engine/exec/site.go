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
	record := ""
	site := &in.site
	if at, ok := in.node.Cache.(*inlinedAt); ok {
		self, record = at.module, at.fn.Record
	} else if f := m.frame; f != nil {
		self, record = f.module, f.code.fn.Record
		site = &f.sites[in.num]
	}
	if *site > 0 {
		m.site = trace.SiteID(*site - 1)
		return
	}
	module := ""
	if self != nil {
		module = self.FQN
	}
	pos := in.node.Src.Pos()
	if pos.File == "" {
		pos = program.Pos{File: record, Line: int(in.node.Line)}
	}
	m.setSite(in.node.Op, module, pos, tensor.Activation)
	*site = int32(m.site) + 1
}

// codeSites are the places that a function's instructions have had for a module, each one more than its number; 0 is none yet.
type codeSites struct {
	code  *code
	sites []int32
}

// sitesOf are the places of c's instructions for a module; those of no module's functions hang on an object of none.
func (m *machine) sitesOf(c *code, module *Object) []int32 {
	if module == nil {
		module = &m.noModule
	}
	for i := range module.sites {
		if module.sites[i].code == c {
			return module.sites[i].sites
		}
	}
	s := codeSites{c, m.numbers.cut(c.count)}
	if module.sites == nil {
		module.sites = m.places.cut(2)[:0]
	}
	module.sites = append(module.sites, s)
	return s.sites
}

// workspaceSite is the current place as the origin of library scratch.
func (m *machine) workspaceSite() trace.SiteID {
	if id, ok := m.scratchSites[m.site]; ok {
		return id
	}
	s := m.tr.Site(m.site)
	s.Category = tensor.Workspace
	m.tr.Sites = append(m.tr.Sites, s)
	id := trace.SiteID(len(m.tr.Sites) - 1)
	if m.scratchSites == nil {
		m.scratchSites = map[trace.SiteID]trace.SiteID{}
	}
	m.scratchSites[m.site] = id
	return id
}

// placeOf names a place for assume: the user's file and line.
func placeOf(s trace.Site) string { return fmt.Sprintf("%s:%d", s.File, s.Line) }
