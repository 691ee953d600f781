package format

import (
	"compress/gzip"
	"io"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// pprof writes who holds the allocated peak as a profile (github.com/google/pprof,
// proto/profile.proto, gzipped): a sample a place and category, with what was requested and what
// the allocator counts. A stack is the modules from the outermost in, then the operator at the
// model's own line; what nobody made by an operator (parameters, inputs) ends in its name. Labels
// report category, phase and pass.
type pprof struct {
	w       io.Writer
	o       Options
	strings []string
	index   map[string]int64
	funcs   []pprofFunc
	byFunc  map[pprofFunc]int64
	samples []*pprofSample
	bySite  map[trace.Site]*pprofSample
	comment []string
}

// pprofFunc is a function of the profile, and with its line a location.
type pprofFunc struct {
	name, file string
	line       int
}

type pprofSample struct {
	stack     []int64 // locations, the leaf first
	requested units.Bytes
	allocated units.Bytes
	count     int64
	site      trace.Site
}

func newPprof(w io.Writer, o Options) Writer {
	return &pprof{w: w, o: o, strings: []string{""}, index: map[string]int64{"": 0}, byFunc: map[pprofFunc]int64{}, bySite: map[trace.Site]*pprofSample{}}
}

func (p *pprof) string(s string) int64 {
	s = oneLine(s)
	i, ok := p.index[s]
	if !ok {
		i = int64(len(p.strings))
		p.index[s] = i
		p.strings = append(p.strings, s)
	}
	return i
}

// location is the number of a function's location, from 1.
func (p *pprof) location(f pprofFunc) int64 {
	i, ok := p.byFunc[f]
	if !ok {
		p.funcs = append(p.funcs, f)
		i = int64(len(p.funcs))
		p.byFunc[f] = i
	}
	return i
}

func (p *pprof) Case(c *Case) error {
	if c.Timeline == nil {
		return nil
	}
	for _, h := range heldAt(c.Timeline, c.Timeline.Peaks.Allocated.Event) {
		s := p.bySite[h.Site]
		if s == nil {
			s = &pprofSample{stack: p.stack(h.Site), site: h.Site}
			p.bySite[h.Site] = s
			p.samples = append(p.samples, s)
		}
		s.requested += h.Requested
		s.allocated += h.Size
		s.count++
	}
	p.comment = append(p.comment, "held at the allocated peak of "+c.title())
	if r := c.Report; r != nil {
		p.comment = append(p.comment, strings.Join(append([]string{r.Artifact, r.Runtime, r.Mode, "torch " + r.Torch}, r.Inputs...), ", "), report.Headline(r))
	}
	return nil
}

func (p *pprof) stack(s trace.Site) []int64 {
	var out []int64
	for _, m := range modulePaths(s.Module) {
		out = append(out, p.location(pprofFunc{name: m}))
	}
	leaf := s.Op
	if leaf == "" {
		leaf = "(" + s.Category.String() + ")"
	}
	file, _ := p.o.Paths.Source(s.File)
	out = append(out, p.location(pprofFunc{leaf, file, s.Line}))
	slices.Reverse(out)
	return out
}

// The numbers of profile.proto's fields.
const (
	profileSampleType = 1
	profileSample     = 2
	profileLocation   = 4
	profileFunction   = 5
	profileStrings    = 6
	profileComment    = 13
	profileDefault    = 14
	sampleLocation    = 1
	sampleValue       = 2
	sampleLabel       = 3
	labelKey          = 1
	labelText         = 2
	locationID        = 1
	locationLine      = 4
	lineFunction      = 1
	lineNumber        = 2
	functionID        = 1
	functionName      = 2
	functionSystem    = 3
	functionFile      = 4
	valueType         = 1
	valueUnit         = 2
)

func (p *pprof) End(*Summary) error {
	var m message
	for _, t := range [][2]string{{"storages", "count"}, {"requested", "bytes"}, {"allocated", "bytes"}} {
		var v message
		v.int(valueType, p.string(t[0]))
		v.int(valueUnit, p.string(t[1]))
		m.bytes(profileSampleType, v)
	}
	for _, s := range p.samples {
		m.bytes(profileSample, p.sample(s))
	}
	functions := map[pprofFunc]int64{} // by name and file: a function has several lines
	var defined message
	for i, f := range p.funcs {
		key := pprofFunc{name: f.name, file: f.file}
		id, ok := functions[key]
		if !ok {
			id = int64(len(functions) + 1)
			functions[key] = id
			var d message
			d.int(functionID, id)
			d.int(functionName, p.string(f.name))
			d.int(functionSystem, p.string(f.name))
			d.int(functionFile, p.string(f.file))
			defined.bytes(profileFunction, d)
		}
		var line, l message
		line.int(lineFunction, id)
		line.int(lineNumber, int64(f.line))
		l.int(locationID, int64(i+1))
		l.bytes(locationLine, line)
		m.bytes(profileLocation, l)
	}
	m = append(m, defined...)
	var comments []int64
	for _, c := range p.comment {
		comments = append(comments, p.string(c))
	}
	byDefault := p.string("allocated")
	for _, s := range p.strings {
		m.bytes(profileStrings, []byte(s))
	}
	m.ints(profileComment, comments)
	m.int(profileDefault, byDefault)
	z := gzip.NewWriter(p.w) // its header has no time and no name
	if _, err := z.Write(m); err != nil {
		return err
	}
	return z.Close()
}

func (p *pprof) sample(s *pprofSample) message {
	var m message
	m.ints(sampleLocation, s.stack)
	m.ints(sampleValue, []int64{s.count, int64(s.requested), int64(s.allocated)})
	for _, l := range [][2]string{{"category", s.site.Category.String()}, {"phase", s.site.Phase.String()}} {
		var label message
		label.int(labelKey, p.string(l[0]))
		label.int(labelText, p.string(l[1]))
		m.bytes(sampleLabel, label)
	}
	return m
}
