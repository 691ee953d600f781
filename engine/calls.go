package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/workspace"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// A LibraryCall is a library call of a run that decides on its own workspace.
type LibraryCall struct {
	By   profile.Answerer // who has to answer: the library of the case's release, for the class of its device
	Call profile.Call
	// who did, in the run's workspace profile: By, or what stands in for it; the zero value where
	// nobody did
	Answered profile.Answerer
	Engine   int // the library's choice, where somebody answered
}

// Known says whether the run's workspace profile has an answer, be it a stand-in's.
func (c *LibraryCall) Known() bool { return c.Answered.Library != "" }

// libraryCalls are what was asked, by whom they are to be answered.
func libraryCalls(asked []*workspace.Asked, by profile.Answerer) []LibraryCall {
	out := make([]LibraryCall, len(asked))
	for i, a := range asked {
		out[i] = LibraryCall{By: by, Call: *a.Call, Answered: a.By, Engine: a.Engine}
	}
	return out
}

// askCommand asks the libraries for what is by rule in the cases of a memspec.yaml, which is named
// where it is not the file that the command takes unasked.
func askCommand(file string) string {
	command := "python -m memshim workspace"
	if file == "" || file == "memspec.yaml" {
		return command
	}
	return command + " " + layout.ShellQuote(file)
}

// answered sums up who answered library calls: the library itself first, what is by rule last.
func answered(calls []LibraryCall) []report.Workspace {
	var out []report.Workspace
	for i := range calls {
		a := &calls[i]
		s := report.Workspace{Basis: report.ByRule, Library: a.Answered.Library, Version: a.Answered.Version,
			Class: a.Answered.Class}
		switch {
		case a.Answered == a.By:
			s.Basis = report.ByProfile
		case a.Known():
			s.Basis = report.ByStandIn
		}
		i := slices.IndexFunc(out, func(o report.Workspace) bool {
			return o.Basis == s.Basis && o.Library == s.Library && o.Version == s.Version && o.Class == s.Class
		})
		if i < 0 {
			i = len(out)
			out = append(out, s)
		}
		out[i].Calls++
		if a.Known() && !slices.Contains(out[i].Engines, a.Engine) {
			out[i].Engines = append(out[i].Engines, a.Engine)
		}
	}
	for i := range out {
		slices.Sort(out[i].Engines)
	}
	slices.SortFunc(out, func(a, b report.Workspace) int {
		return cmp.Or(strings.Compare(a.Basis, b.Basis), strings.Compare(a.Version, b.Version)) // profile, rule, stand-in
	})
	return out
}
