package exec

import (
	"fmt"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// Sites are the places of a run: the pass and phase under way, and the operator. Every event gets
// the one that is current.
type Sites struct {
	pass  int
	phase trace.Phase
	now   trace.SiteID // of the operator under way, or trace.NoSite
	list  []trace.Site

	workspace map[trace.SiteID]trace.SiteID // by operator: its place as the origin of workspace
}

func newSites() *Sites { return &Sites{now: trace.NoSite} }

// Enter makes the place of an operator current for the first time, and returns its number.
func (s *Sites) Enter(op, module string, pos program.Pos) trace.SiteID {
	return s.enter(op, module, pos, tensor.Activation)
}

func (s *Sites) enter(op, module string, pos program.Pos, cat tensor.Category) trace.SiteID {
	s.now = trace.SiteID(len(s.list))
	s.list = append(s.list, trace.Site{Op: op, Module: module, File: pos.File, Line: pos.Line, Phase: s.phase,
		Category: cat})
	return s.now
}

// EnterAs is Enter of an operator whose results are of a category.
func (s *Sites) EnterAs(cat tensor.Category, op, module string, pos program.Pos) trace.SiteID {
	return s.enter(op, module, pos, cat)
}

// Begin begins a part of the pass under way.
func (s *Sites) Begin(phase trace.Phase) { s.phase = phase }

// EnterAgain makes a place current that Enter gave before.
func (s *Sites) EnterAgain(id trace.SiteID) { s.now = id }

// Leave ends the operator under way.
func (s *Sites) Leave() { s.now = trace.NoSite }

// current is the place of the operator under way, the empty one where there is none.
func (s *Sites) current() trace.Site {
	if s.now < 0 {
		return trace.Site{}
	}
	return s.list[s.now]
}

// enterWorkspace makes the current place the origin of workspace, and returns what was current.
func (s *Sites) enterWorkspace() (was trace.SiteID) {
	was = s.now
	id, ok := s.workspace[was]
	if !ok {
		site := s.current()
		site.Category = tensor.Workspace
		id = trace.SiteID(len(s.list))
		s.list = append(s.list, site)
		if s.workspace == nil {
			s.workspace = map[trace.SiteID]trace.SiteID{}
		}
		s.workspace[was] = id
	}
	s.now = id
	return was
}

// lineOf names a place as assume: does, by the user's file and line.
func lineOf(s trace.Site) string { return fmt.Sprintf("%s:%d", s.File, s.Line) }
