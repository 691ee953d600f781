package trace

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// The limits of a text: what it says must not cost more than its length is worth.
const (
	maxLine    = 1 << 20
	maxStorage = 1 << 21
)

// Parse reads the text form.
func Parse(r io.Reader) (*Trace, error) {
	p := parser{t: &Trace{}, sites: map[Site]SiteID{}, birth: map[tensor.StorageID]Event{}}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLine)
	line := 0
	for sc.Scan() {
		line++
		if err := p.line(sc.Text()); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", line+1, err)
	}
	return p.t, nil
}

type parser struct {
	t      *Trace
	sites  map[Site]SiteID
	birth  map[tensor.StorageID]Event
	pass   int
	phase  Phase
	words  []string // of the line
	keys   map[string]string
	assign bool // the second word is = itself
}

// line reads one line.
func (p *parser) line(text string) error {
	if err := p.split(text); err != nil || len(p.words) == 0 {
		return err
	}
	if p.assign {
		return p.alloc()
	}
	var err error
	switch verb := p.next(); verb {
	case "origin":
		p.t.Origin = p.name()
	case "passes":
		for len(p.words) > 0 {
			p.t.Passes = append(p.t.Passes, Pass{p.name()})
		}
	case "heap":
		err = p.heap()
	case "block":
		err = p.block()
	case "pass":
		err = p.enter()
	case "free":
		err = p.free(FreeRequested)
	case "free_completed":
		err = p.free(FreeCompleted)
	case "mark":
		err = p.mark()
	case "note":
		err = p.note()
	case "coverage":
		for _, n := range []*int{&p.t.Coverage.Nodes, &p.t.Coverage.TensorOutputs, &p.t.Coverage.KnownDType, &p.t.Coverage.Sized} {
			if *n, err = p.int(); err != nil {
				break
			}
		}
	case "unsupported":
		err = p.unsupported()
	default:
		a, ok := ParseAction(verb)
		if !ok || a == Alloc {
			return fmt.Errorf("got %q, want a storage with =, free, mark, pass or another action", verb)
		}
		err = p.other(a)
	}
	if err != nil {
		return err
	}
	return p.done()
}

// done refuses what no one read.
func (p *parser) done() error {
	if len(p.words) > 0 {
		return fmt.Errorf("got %q, want the end of the line", p.words[0])
	}
	for k := range p.keys {
		return fmt.Errorf("got %s=%s, which does not belong here", k, p.keys[k])
	}
	return nil
}

// split cuts a line into words and key=value pairs.
func (p *parser) split(text string) error {
	p.words, p.keys, p.assign = p.words[:0], nil, false
	for {
		text = strings.TrimLeft(text, " \t")
		if text == "" || text[0] == '#' {
			return nil
		}
		key := ""
		if i := strings.IndexAny(text, "= \t\""); i > 0 && text[i] == '=' && i+1 < len(text) {
			key, text = text[:i], text[i+1:]
		}
		word := text
		if text[0] == '"' {
			quoted, err := strconv.QuotedPrefix(text)
			if err != nil {
				return fmt.Errorf("got %s, want a quoted word that ends", text)
			}
			word, _ = strconv.Unquote(quoted)
			text = text[len(quoted):]
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
			continue
		}
		if p.keys == nil {
			p.keys = map[string]string{}
		}
		if _, twice := p.keys[key]; twice {
			return fmt.Errorf("got %s= twice", key)
		}
		p.keys[key] = word
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

func (p *parser) name() string { return p.next() }

func (p *parser) key(name string) (string, bool) {
	v, ok := p.keys[name]
	delete(p.keys, name)
	return v, ok
}

func (p *parser) int() (int, error) {
	w := p.next()
	n, err := strconv.Atoi(w)
	if err != nil {
		return 0, fmt.Errorf("got %q, want a number", w)
	}
	return n, nil
}

func (p *parser) bytes(w string) (units.Bytes, error) {
	if strings.HasPrefix(w, "-") {
		return 0, fmt.Errorf("got the size %q, want one that is not negative", w)
	}
	return units.Parse(w)
}

func (p *parser) storage() (tensor.StorageID, error) {
	w := p.next()
	id, ok := parseStorageName(w)
	if !ok || id < 0 || id > maxStorage {
		return 0, fmt.Errorf("got %q, want the letters of a storage", w)
	}
	return id, nil
}

func addr(w string) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(w, "0x"), 16, 64)
	if err != nil || !strings.HasPrefix(w, "0x") {
		return 0, fmt.Errorf("got %q, want an address such as 0x7f00", w)
	}
	return n, nil
}

// site reads the words of a site, up to the end of the line.
func (p *parser) site() (Site, error) {
	s := Site{Phase: p.phase}
	w := p.next()
	cat, ok := tensor.ParseCategory(w)
	if !ok {
		return s, fmt.Errorf("got the category %q, want one such as activation or parameter", w)
	}
	s.Category = cat
	s.Op, s.Module = p.next(), p.next()
	if place := p.next(); place != "" {
		i := strings.LastIndexByte(place, ':')
		if i < 0 {
			return s, fmt.Errorf("got the place %q, want file:line", place)
		}
		line, err := strconv.Atoi(place[i+1:])
		if err != nil {
			return s, fmt.Errorf("got the place %q, want file:line", place)
		}
		s.File, s.Line = place[:i], line
	}
	if w, ok := p.key("phase"); ok {
		if s.Phase, ok = ParsePhase(w); !ok {
			return s, fmt.Errorf("got the phase %q, want load, forward, backward or step", w)
		}
	}
	return s, nil
}

func (p *parser) intern(s Site) SiteID {
	id, ok := p.sites[s]
	if !ok {
		id = SiteID(len(p.t.Sites))
		p.t.Sites = append(p.t.Sites, s)
		p.sites[s] = id
	}
	return id
}

func (p *parser) heap() error {
	var s Segment
	var err error
	if s.Addr, err = addr(p.next()); err != nil {
		return err
	}
	if s.Size, err = p.bytes(p.next()); err != nil {
		return err
	}
	for len(p.words) > 0 {
		switch w := p.next(); w {
		case "small":
			s.Small = true
		case "expandable":
			s.Expandable = true
		default:
			return fmt.Errorf("got %q, want small or expandable", w)
		}
	}
	if w, ok := p.key("stream"); ok {
		if s.Stream, err = strconv.Atoi(w); err != nil {
			return fmt.Errorf("got the stream %q, want a number", w)
		}
	}
	s.Private, _ = p.key("private")
	p.t.Heap = append(p.t.Heap, s)
	return nil
}

func (p *parser) block() error {
	if len(p.t.Heap) == 0 {
		return fmt.Errorf("got a block, want a heap line before it")
	}
	s := &p.t.Heap[len(p.t.Heap)-1]
	b := Block{Addr: s.Addr, Storage: NoStorage}
	if n := len(s.Blocks); n > 0 {
		b.Addr = s.Blocks[n-1].Addr + uint64(s.Blocks[n-1].Size)
	}
	var err error
	if b.Size, err = p.bytes(p.next()); err != nil {
		return err
	}
	state := p.next()
	for i, n := range blockStateNames {
		if n == state {
			b.State = BlockState(i)
			state = ""
		}
	}
	if state != "" {
		return fmt.Errorf("got the state %q, want inactive, active_allocated or active_awaiting_free", state)
	}
	if w, ok := p.key("requested"); ok {
		if b.Requested, err = p.bytes(w); err != nil {
			return err
		}
	}
	if len(p.words) > 0 {
		if b.Storage, err = p.storage(); err != nil {
			return err
		}
		p.birth[b.Storage] = Event{Storage: b.Storage, Bytes: b.Requested, Addr: b.Addr, Stream: s.Stream, Site: NoSite}
	}
	s.Blocks = append(s.Blocks, b)
	return nil
}

func (p *parser) enter() error {
	var err error
	if p.pass, err = p.int(); err != nil {
		return err
	}
	if len(p.words) > 0 {
		w := p.next()
		phase, ok := ParsePhase(w)
		if !ok {
			return fmt.Errorf("got the phase %q, want load, forward, backward or step", w)
		}
		p.phase = phase
	}
	return nil
}

func (p *parser) alloc() error {
	id, err := p.storage()
	if err != nil {
		return err
	}
	p.next()
	if w := p.next(); w != "alloc" {
		return fmt.Errorf("got %q, want alloc", w)
	}
	e := Event{Action: Alloc, Storage: id, Pass: p.pass, Site: NoSite}
	if e.Bytes, err = p.bytes(p.next()); err != nil {
		return err
	}
	if len(p.words) > 0 {
		s, err := p.site()
		if err != nil {
			return err
		}
		e.Site = p.intern(s)
	}
	if err := p.add(e, false); err != nil {
		return err
	}
	p.birth[id] = p.t.Events[len(p.t.Events)-1]
	return p.done()
}

func (p *parser) free(a Action) error {
	id, err := p.storage()
	if err != nil {
		return err
	}
	e, ok := p.birth[id]
	if !ok {
		e = Event{Storage: id, Site: NoSite}
	}
	e.Action, e.Pass = a, p.pass
	return p.add(e, true)
}

func (p *parser) mark() error {
	e := Event{Action: Mark, Storage: NoStorage, Pass: p.pass}
	s := Site{Op: p.next(), Phase: p.phase}
	switch {
	case len(p.words) > 0 && p.words[0] == "nosite":
		p.next()
		e.Site = NoSite
		if s.Op != "" {
			return fmt.Errorf("got the mark %q without a site, want one to hold its name", s.Op)
		}
		return p.add(e, false)
	case len(p.words) > 0:
		var err error
		if s, err = p.site(); err != nil {
			return err
		}
	}
	e.Site = p.intern(s)
	return p.add(e, false)
}

func (p *parser) other(a Action) error {
	return p.add(Event{Action: a, Storage: NoStorage, Pass: p.pass, Site: NoSite}, true)
}

// add reads what differs from e, which the line did not say otherwise, and appends the event.
func (p *parser) add(e Event, sited bool) error {
	var err error
	if sited && len(p.words) > 0 {
		switch w := p.next(); w {
		case "nosite":
			e.Site = NoSite
		case "at":
			s, err := p.site()
			if err != nil {
				return err
			}
			e.Site = p.intern(s)
		default:
			return fmt.Errorf("got %q, want at or nosite", w)
		}
	}
	if w, ok := p.key("storage"); ok {
		id, ok := parseStorageName(w)
		if !ok || id > maxStorage {
			return fmt.Errorf("got the storage %q, want its letters", w)
		}
		e.Storage = id
	}
	if w, ok := p.key("bytes"); ok {
		if e.Bytes, err = p.bytes(w); err != nil {
			return err
		}
	}
	if w, ok := p.key("stream"); ok {
		if e.Stream, err = strconv.Atoi(w); err != nil {
			return fmt.Errorf("got the stream %q, want a number", w)
		}
	}
	if w, ok := p.key("addr"); ok {
		if e.Addr, err = addr(w); err != nil {
			return err
		}
	}
	p.t.Events = append(p.t.Events, e)
	return nil
}

func (p *parser) note() error {
	n := Note{Note: note.Note{ID: note.ID(p.next()), Subject: p.name()}, Site: NoSite}
	if len(p.words) > 0 && p.words[0] == askable {
		p.next()
		n.Askable = true
	}
	if len(p.words) > 0 {
		s, err := p.noteSite()
		if err != nil {
			return err
		}
		n.Site = p.intern(s)
	}
	p.t.Notes = append(p.t.Notes, n)
	return nil
}

// noteSite reads a site whose phase stands beside it.
func (p *parser) noteSite() (Site, error) {
	phase := p.phase
	p.phase = Load
	s, err := p.site()
	p.phase = phase
	return s, err
}

func (p *parser) unsupported() error {
	word := p.next()
	reason, ok := ParseReason(word)
	if !ok {
		return fmt.Errorf("got the reason %q, want one of %s", word, strings.Join(reasonNames[:], ", "))
	}
	u := Unsupported{Reason: reason, Op: p.name()}
	var err error
	if u.Count, err = p.int(); err != nil {
		return err
	}
	if u.First, err = p.noteSite(); err != nil {
		return err
	}
	u.Detail, _ = p.key("detail")
	p.t.Coverage.Unsupported = append(p.t.Coverage.Unsupported, u)
	return nil
}
