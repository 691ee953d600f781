package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/scratch"
	"github.com/memspec/memspec/engine/spec"
)

// ScratchFile is the name of the scratch profile that lies beside a memspec.yaml.
const ScratchFile = spec.ScratchFile

// A LibraryCall is a library call of a run that decides on its own workspace.
type LibraryCall struct {
	By    scratch.Answerer // who has to answer: the library of the case's release, for the class of its device
	Call  scratch.Call
	Known bool // the run's scratch profile has an answer, be it a stand-in's
}

// LibraryCalls runs a case and lists its library calls, each once, in the order they are first made.
func (m *Model) LibraryCalls(ctx context.Context, c spec.Case) ([]LibraryCall, error) {
	log := &scratchLog{}
	if _, err := m.trace(ctx, c, traceOptions{scratch: log}); err != nil {
		return nil, err
	}
	by := c.Platform.Answerer()
	out := make([]LibraryCall, len(log.asked))
	for i, a := range log.asked {
		out[i] = LibraryCall{By: by, Call: *a.Call, Known: a.By.Library != ""}
	}
	return out, nil
}

// nameSpec puts the case's file into the command that would settle a figure by rule, where it is not the file that the command takes unasked.
func nameSpec(r *report.Report, file string) {
	if file == "" || file == "memspec.yaml" {
		return
	}
	for i := range r.Notes {
		n := &r.Notes[i]
		if text, ok := strings.CutSuffix(n.Text, ops.SettleCommand); ok {
			n.Text = text + ops.SettleCommand + " " + ShellQuote(file)
		}
	}
}

// scratchLog gathers what a run asks of libraries.
type scratchLog struct {
	asked []*ops.Asked // each call once, in order
	seen  map[string]bool
}

func (l *scratchLog) add(s *ops.Scratch) {
	if s.Asked == nil {
		return
	}
	key := s.Asked.Call.Key()
	if l.seen[key] {
		return
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[key] = true
	l.asked = append(l.asked, s.Asked)
}

// report sums up who answered: the library itself first, what is by rule last.
func (l *scratchLog) report(by scratch.Answerer) []report.Scratch {
	var out []report.Scratch
	for _, a := range l.asked {
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
