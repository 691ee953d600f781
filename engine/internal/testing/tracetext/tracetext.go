// Package tracetext reads the text form of a trace (trace.Trace.String), in which tests state
// theirs.
package tracetext

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Parse reads a trace. The error names the line.
func Parse(r io.Reader) (t *trace.Trace, err error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	p := parser{t: &trace.Trace{}, sites: map[trace.Site]trace.SiteID{}, birth: map[tensor.StorageID]trace.Event{}}
	line := 0
	defer func() {
		if e := recover(); e != nil {
			t, err = nil, fmt.Errorf("line %d: %v", line, e)
		}
	}()
	for one := range strings.Lines(string(text)) {
		line++
		p.line(strings.TrimSuffix(one, "\n"))
	}
	return p.t, nil
}

// parser reads one line after another. What it cannot read it panics with.
type parser struct {
	t      *trace.Trace
	sites  map[trace.Site]trace.SiteID
	birth  map[tensor.StorageID]trace.Event
	pass   int
	phase  trace.Phase
	words  []string // of the line
	keys   map[string]string
	assign bool // the second word is = itself
}

func want[T any](v T, ok bool, got, what string) T {
	if !ok {
		panic(fmt.Sprintf("got %q, want %s", got, what))
	}
	return v
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (p *parser) line(text string) {
	if p.split(text); len(p.words) == 0 {
		return
	}
	if p.assign {
		p.alloc()
	} else {
		p.verb(p.next())
	}
	if len(p.words) > 0 || len(p.keys) > 0 {
		panic(fmt.Sprintf("got %q and %q, want the end of the line", p.words, p.keys))
	}
}

func (p *parser) verb(verb string) {
	switch verb {
	case "origin":
		p.t.Origin = p.next()
	case "passes":
		for len(p.words) > 0 {
			p.t.Passes = append(p.t.Passes, trace.Pass{Name: p.next()})
		}
	case "heap":
		p.heap()
	case "block":
		p.block()
	case "pass":
		p.pass = p.int()
		if len(p.words) > 0 {
			p.phase = phaseOf(p.next())
		}
	case "free":
		p.free(trace.FreeRequested)
	case "free_completed":
		p.free(trace.FreeCompleted)
	case "mark":
		p.mark()
	case "note":
		p.note()
	case "coverage":
		c := &p.t.Coverage
		c.Nodes, c.TensorOutputs, c.KnownDType, c.Sized = p.int(), p.int(), p.int(), p.int()
	case "unsupported":
		p.unsupported()
	default:
		a, ok := trace.ParseAction(verb)
		want(a, ok && a != trace.Alloc, verb, "a storage with =, free, mark, pass or another action")
		p.add(trace.Event{Action: a, Storage: trace.NoStorage, Pass: p.pass, Site: trace.NoSite}, true)
	}
}

// split cuts a line into words and key=value pairs.
func (p *parser) split(text string) {
	p.words, p.keys, p.assign = p.words[:0], map[string]string{}, false
	for {
		text = strings.TrimLeft(text, " \t")
		if text == "" || text[0] == '#' {
			return
		}
		key := ""
		if i := strings.IndexAny(text, "= \t\""); i > 0 && text[i] == '=' && i+1 < len(text) {
			key, text = text[:i], text[i+1:]
		}
		word := text
		if text[0] == '"' {
			quoted := must(strconv.QuotedPrefix(text))
			word, text = must(strconv.Unquote(quoted)), text[len(quoted):]
		} else {
			if i := strings.IndexAny(text, " \t"); i >= 0 {
				word = text[:i]
			}
			text = text[len(word):]
			if word == "-" {
				word = ""
			}
			p.assign = p.assign || word == "=" && len(p.words) == 1
		}
		if key == "" {
			p.words = append(p.words, word)
		} else {
			p.keys[key] = word
		}
	}
}

func (p *parser) next() string {
	if len(p.words) == 0 {
		return ""
	}
	w := p.words[0]
	p.words = p.words[1:]
	return w
}

func (p *parser) key(name string) (string, bool) {
	v, ok := p.keys[name]
	delete(p.keys, name)
	return v, ok
}

func (p *parser) int() int { return must(strconv.Atoi(p.next())) }

func phaseOf(w string) trace.Phase {
	phase, ok := trace.ParsePhase(w)
	return want(phase, ok, w, "a phase")
}

func addrOf(w string) uint64 { return must(strconv.ParseUint(w, 0, 64)) }

// storageOf numbers the letters of a storage; - is none.
func storageOf(w string) tensor.StorageID {
	n := 0
	for _, c := range w {
		n = want(n*26+int(c-'a')+1, 'a' <= c && c <= 'z', w, "the letters of a storage")
	}
	if w == "" {
		return trace.NoStorage
	}
	return tensor.StorageID(n - 1)
}

func (p *parser) storage() tensor.StorageID {
	w := p.next()
	return want(storageOf(w), w != "", w, "the letters of a storage")
}

// site reads the words of a site, up to the end of the line.
func (p *parser) site() trace.SiteID {
	s := p.siteIn(p.phase)
	id, ok := p.sites[s]
	if !ok {
		id = trace.SiteID(len(p.t.Sites))
		p.t.Sites, p.sites[s] = append(p.t.Sites, s), id
	}
	return id
}

func (p *parser) siteIn(phase trace.Phase) trace.Site {
	w := p.next()
	category, ok := tensor.ParseCategory(w)
	s := trace.Site{Phase: phase, Category: want(category, ok, w, "a category"), Op: p.next(), Module: p.next()}
	if place := p.next(); place != "" {
		i := strings.LastIndexByte(place, ':')
		s.File, s.Line = place[:want(i, i >= 0, place, "file:line")], must(strconv.Atoi(place[i+1:]))
	}
	if w, ok := p.key("phase"); ok {
		s.Phase = phaseOf(w)
	}
	return s
}

func (p *parser) heap() {
	s := trace.Segment{Addr: addrOf(p.next()), Size: must(units.Parse(p.next()))}
	for len(p.words) > 0 {
		w := p.next()
		s.Small, s.Expandable = s.Small || w == "small", s.Expandable || w == "expandable"
		want(0, w == "small" || w == "expandable", w, "small or expandable")
	}
	if w, ok := p.key("stream"); ok {
		s.Stream = must(strconv.Atoi(w))
	}
	s.Private, _ = p.key("private")
	p.t.Heap = append(p.t.Heap, s)
}

func (p *parser) block() {
	s := &p.t.Heap[len(p.t.Heap)-1]
	b := trace.Block{Addr: s.Addr, Storage: trace.NoStorage, Size: must(units.Parse(p.next()))}
	if n := len(s.Blocks); n > 0 {
		b.Addr = s.Blocks[n-1].Addr + uint64(s.Blocks[n-1].Size)
	}
	states := []trace.BlockState{trace.Inactive, trace.ActiveAllocated, trace.ActiveAwaitingFree}
	state := p.next()
	i := slices.IndexFunc(states, func(s trace.BlockState) bool { return s.String() == state })
	b.State = states[want(i, i >= 0, state, "a block's state")]
	if w, ok := p.key("requested"); ok {
		b.Requested = must(units.Parse(w))
	}
	if len(p.words) > 0 {
		b.Storage = p.storage()
		p.birth[b.Storage] = trace.Event{Storage: b.Storage, Bytes: b.Requested, Addr: b.Addr, Stream: s.Stream,
			Site: trace.NoSite}
	}
	s.Blocks = append(s.Blocks, b)
}

func (p *parser) alloc() {
	e := trace.Event{Action: trace.Alloc, Storage: p.storage(), Pass: p.pass, Site: trace.NoSite}
	p.next()
	w := p.next()
	want(0, w == "alloc", w, "alloc")
	e.Bytes = must(units.Parse(p.next()))
	if len(p.words) > 0 {
		e.Site = p.site()
	}
	p.add(e, false)
	p.birth[e.Storage] = p.t.Events[len(p.t.Events)-1]
}

func (p *parser) free(a trace.Action) {
	id := p.storage()
	e, ok := p.birth[id]
	if !ok {
		e = trace.Event{Storage: id, Site: trace.NoSite}
	}
	e.Action, e.Pass = a, p.pass
	p.add(e, true)
}

func (p *parser) mark() {
	e := trace.Event{Action: trace.Mark, Storage: trace.NoStorage, Pass: p.pass, Site: trace.NoSite}
	name := p.next()
	switch {
	case len(p.words) == 0:
		p.words = []string{tensor.Activation.String(), name}
		e.Site = p.site()
	case p.words[0] == "nosite":
		p.next()
	default:
		e.Site = p.site()
	}
	p.add(e, false)
}

// add reads what differs from e, which the line did not say otherwise, and appends the event.
func (p *parser) add(e trace.Event, sited bool) {
	if sited && len(p.words) > 0 {
		switch w := p.next(); w {
		case "nosite":
			e.Site = trace.NoSite
		case "at":
			e.Site = p.site()
		default:
			panic(fmt.Sprintf("got %q, want at or nosite", w))
		}
	}
	for key, set := range map[string]func(string){
		"storage": func(w string) { e.Storage = storageOf(w) },
		"bytes":   func(w string) { e.Bytes = must(units.Parse(w)) },
		"stream":  func(w string) { e.Stream = must(strconv.Atoi(w)) },
		"addr":    func(w string) { e.Addr = addrOf(w) },
	} {
		if w, ok := p.key(key); ok {
			set(w)
		}
	}
	p.t.Events = append(p.t.Events, e)
}

func (p *parser) note() {
	n := trace.Note{Note: note.Note{ID: note.ID(p.next()), Subject: p.next()}, Site: trace.NoSite}
	if n.Askable = len(p.words) > 0 && p.words[0] == "askable"; n.Askable {
		p.next()
	}
	if len(p.words) > 0 {
		phase := p.phase
		p.phase = trace.Load // a note's phase stands beside it
		n.Site = p.site()
		p.phase = phase
	}
	p.t.Notes = append(p.t.Notes, n)
}

func (p *parser) unsupported() {
	w := p.next()
	reason, ok := trace.ParseReason(w)
	u := trace.Unsupported{Reason: want(reason, ok, w, "a reason"), Op: p.next(), Count: p.int(),
		First: p.siteIn(trace.Load)}
	u.Detail, _ = p.key("detail")
	p.t.Coverage.Unsupported = append(p.t.Coverage.Unsupported, u)
}
