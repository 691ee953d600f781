package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/workspace"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// ScratchFile is the name of the scratch profile that lies beside a memspec.yaml.
const ScratchFile = spec.ScratchFile

// A LibraryCall is a library call of a run that decides on its own workspace.
type LibraryCall struct {
	By    profile.Answerer // who has to answer: the library of the case's release, for the class of its device
	Call  profile.Call
	Known bool // the run's scratch profile has an answer, be it a stand-in's
}

// LibraryCalls runs a case and lists its library calls, each once, in the order they are first made.
func (m *Model) LibraryCalls(ctx context.Context, c spec.Case) ([]LibraryCall, error) {
	r, err := m.run(ctx, c, likeliest)
	if err != nil {
		return nil, err
	}
	by := c.Platform.Answerer()
	out := make([]LibraryCall, len(r.Calls))
	for i, a := range r.Calls {
		out[i] = LibraryCall{By: by, Call: *a.Call, Known: a.By.Library != ""}
	}
	return out, nil
}

// askCommand asks the libraries for what is by rule in the cases of a memspec.yaml, which is named where it is not the file that the command takes
// unasked.
func askCommand(file string) string {
	command := "python -m memshim scratch"
	if file == "" || file == "memspec.yaml" {
		return command
	}
	return command + " " + ShellQuote(file)
}

// answered sums up who answered library calls: the library itself first, what is by rule last.
func answered(calls []*workspace.Asked, by profile.Answerer) []report.Scratch {
	var out []report.Scratch
	for _, a := range calls {
		s := report.Scratch{Basis: report.ByRule}
		switch {
		case a.By == by:
			s.Basis = report.ByProfile
		case a.By.Library != "":
			s.Basis = report.ByStandIn
		}
		if a.By.Library != "" {
			s.Library, s.Version, s.Class = a.By.Library, a.By.Version, a.By.Class
		}
		i := slices.IndexFunc(out, func(o report.Scratch) bool {
			return o.Basis == s.Basis && o.Library == s.Library && o.Version == s.Version && o.Class == s.Class
		})
		if i < 0 {
			i = len(out)
			out = append(out, s)
		}
		out[i].Calls++
		if a.By.Library != "" && !slices.Contains(out[i].Engines, a.Engine) {
			out[i].Engines = append(out[i].Engines, a.Engine)
		}
	}
	for i := range out {
		slices.Sort(out[i].Engines)
	}
	slices.SortFunc(out, func(a, b report.Scratch) int {
		return cmp.Or(strings.Compare(a.Basis, b.Basis), strings.Compare(a.Version, b.Version)) // profile, rule, stand-in
	})
	return out
}
