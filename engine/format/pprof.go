package format

import (
	"compress/gzip"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/trace"
)

// pprof writes who holds the allocated peak as a profile (github.com/google/pprof, gzipped): a
// sample a place and category, with what was requested and what the allocator counts. A stack is
// the modules from the outermost in, then the operator at the model's own line; what nobody made by
// an operator (parameters, inputs) ends in its name. Labels report category, phase and pass.
type pprof struct {
	w         io.Writer
	o         Options
	p         profile.Profile
	functions map[pprofFunc]*profile.Function
	locations map[pprofLine]*profile.Location
	samples   map[trace.Site]*profile.Sample
}

// pprofFunc is a function of the profile.
type pprofFunc struct{ name, file string }

// pprofLine is a location: a line of a function.
type pprofLine struct {
	pprofFunc
	line int
}

func newPprof(w io.Writer, o Options) Writer {
	types := []*profile.ValueType{{Type: "storages", Unit: "count"}, {Type: "requested", Unit: "bytes"},
		{Type: "allocated", Unit: "bytes"}}
	return &pprof{
		w: w, o: o, p: profile.Profile{SampleType: types, DefaultSampleType: "allocated"},
		functions: map[pprofFunc]*profile.Function{}, locations: map[pprofLine]*profile.Location{},
		samples: map[trace.Site]*profile.Sample{},
	}
}

// location returns the profile's location of a line, made where there is none.
func (p *pprof) location(l pprofLine) *profile.Location {
	l.name, l.file = oneLine(l.name), oneLine(l.file)
	if at := p.locations[l]; at != nil {
		return at
	}
	f := p.functions[l.pprofFunc]
	if f == nil {
		f = &profile.Function{ID: uint64(len(p.p.Function) + 1), Name: l.name, SystemName: l.name, Filename: l.file}
		p.functions[l.pprofFunc], p.p.Function = f, append(p.p.Function, f)
	}
	at := &profile.Location{ID: uint64(len(p.p.Location) + 1), Line: []profile.Line{{Function: f, Line: int64(l.line)}}}
	p.locations[l], p.p.Location = at, append(p.p.Location, at)
	return at
}

func (p *pprof) Case(c *Case) error {
	if c.Timeline == nil {
		return nil
	}
	for _, h := range heldAt(c.Timeline, c.Timeline.Peaks.Allocated.Event) {
		s := p.samples[h.Site]
		if s == nil {
			s = &profile.Sample{Location: p.stack(h.Site), Value: make([]int64, 3), Label: map[string][]string{
				"category": {oneLine(h.Site.Category.String())}, "phase": {oneLine(h.Site.Phase.String())},
			}}
			p.samples[h.Site], p.p.Sample = s, append(p.p.Sample, s)
		}
		s.Value[0]++
		s.Value[1] += int64(h.Requested)
		s.Value[2] += int64(h.Size)
	}
	p.comment("held at the allocated peak of " + c.title())
	if r := c.Report; r != nil {
		p.comment(strings.Join(append([]string{r.Artifact, r.Runtime, r.Mode, "torch " + r.Torch}, r.Inputs...), ", "))
		p.comment(report.Headline(r))
	}
	return nil
}

func (p *pprof) comment(text string) { p.p.Comments = append(p.p.Comments, oneLine(text)) }

// stack lists the locations of a site, the operator first.
func (p *pprof) stack(s trace.Site) []*profile.Location {
	var out []*profile.Location
	for _, m := range modulePaths(s.Module) {
		out = append(out, p.location(pprofLine{pprofFunc{name: m}, 0}))
	}
	leaf := s.Op
	if leaf == "" {
		leaf = "(" + s.Category.String() + ")"
	}
	file, _ := p.o.Paths.Source(s.File)
	out = append(out, p.location(pprofLine{pprofFunc{leaf, file}, s.Line}))
	slices.Reverse(out)
	return out
}

// End writes the profile. Profile.Write would drop the error of the last write.
func (p *pprof) End(*Summary) error {
	z := gzip.NewWriter(p.w) // its header has no time and no name
	if err := p.p.WriteUncompressed(z); err != nil {
		return err
	}
	return z.Close()
}
