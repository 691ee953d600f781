package trace

import (
	"io"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/tensor"
)

// The text form. One line an event; storages are letters, in base 26 after z. What a line does not
// say is as it was at the storage's birth (site, bytes, stream and address of a free), or at the
// last `pass` line (pass and phase), or nothing.
//
//	origin exec
//	passes first steady
//	heap 0x7f0000000000 2MiB small stream=3
//	block 512 active_allocated requested=400 a
//	block 2096640 inactive
//	pass 0 load
//	b = alloc 9408  parameter conv1.weight
//	pass 1 forward
//	c = alloc 4MiB  activation aten::relu layer1.0 "my model.py:7"
//	free b
//	mark end
//	note shape-bound - activation aten::nonzero
//	note workspace-estimate "by formula, for want of an answer" askable activation aten::conv2d
//	coverage 12 4 4 3
//	unsupported no-rule my::op 2 activation my::op layer1 model.py:9
//
// A site is a category, an operator, a module and file:line; "-" stands for an empty one, what is
// empty at the end is left out, and a word with spaces is quoted. Sites are numbered again in the
// order of first use when a text is parsed.

// WriteTo prints the trace.
func (t *Trace) WriteTo(w io.Writer) (int64, error) {
	p := printer{t: t, buf: make([]byte, 0, 64*len(t.Events)+256), birth: make([]birth, t.Storages())}
	if t.Origin != "" {
		p.words("origin", t.Origin)
		p.end()
	}
	if len(t.Passes) > 0 {
		p.words("passes")
		for _, pass := range t.Passes {
			p.words(pass.Name)
		}
		p.end()
	}
	for i := range t.Heap {
		p.segment(&t.Heap[i])
	}
	for i := range t.Events {
		p.event(&t.Events[i])
	}
	for _, n := range t.Notes {
		p.words("note", string(n.ID), n.Subject)
		if n.Askable {
			p.words(askable)
		}
		p.noteSite(n.Site)
		p.end()
	}
	if c := &t.Coverage; c.Nodes|c.TensorOutputs|c.KnownDType|c.Sized != 0 || len(c.Unsupported) > 0 {
		p.words("coverage")
		for _, n := range []int{c.Nodes, c.TensorOutputs, c.KnownDType, c.Sized} {
			p.num(int64(n))
		}
		p.end()
		for _, u := range c.Unsupported {
			p.words("unsupported", u.Reason.String(), u.Op)
			p.num(int64(u.Count))
			p.site(u.First)
			if u.Detail != "" {
				p.key("detail")
				p.word(u.Detail)
			}
			if u.First.Phase != Load {
				p.key("phase")
				p.raw(u.First.Phase.String())
			}
			p.end()
		}
	}
	n, err := w.Write(p.buf)
	return int64(n), err
}

// String is the text form.
func (t *Trace) String() string {
	var b strings.Builder
	_, _ = t.WriteTo(&b)
	return b.String()
}

// askable is the word of Note.Askable.
const askable = "askable"

// birth is what a storage's later lines need not repeat.
type birth struct {
	event Event
	known bool
}

type printer struct {
	t     *Trace
	buf   []byte
	birth []birth
	pass  int
	phase Phase
}

func (p *printer) raw(s string) { p.buf = append(p.buf, s...) }

func (p *printer) end() { p.buf = append(p.buf, '\n') }

// space separates words.
func (p *printer) space() {
	if n := len(p.buf); n > 0 && p.buf[n-1] != '\n' {
		p.buf = append(p.buf, ' ')
	}
}

func (p *printer) words(words ...string) {
	for _, w := range words {
		p.space()
		p.word(w)
	}
}

// word prints one word, quoted where it would not come back as it is.
func (p *printer) word(s string) {
	switch {
	case s == "":
		p.raw("-")
	case s == "-" || strings.ContainsFunc(s, func(r rune) bool {
		return r == ' ' || r == '"' || r == '#' || r == '=' || r == '\ufffd' || !strconv.IsPrint(r)
	}):
		p.buf = strconv.AppendQuote(p.buf, s)
	default:
		p.raw(s)
	}
}

func (p *printer) num(n int64) {
	p.space()
	p.buf = strconv.AppendInt(p.buf, n, 10)
}

func (p *printer) hex(n uint64) {
	p.raw("0x")
	p.buf = strconv.AppendUint(p.buf, n, 16)
}

// key prints ` key=`; the value follows.
func (p *printer) key(name string) {
	p.space()
	p.raw(name)
	p.raw("=")
}

// letters prints a storage's name: a to z, then aa.
func (p *printer) letters(id tensor.StorageID) {
	p.space()
	p.raw(storageName(id))
}

func storageName(id tensor.StorageID) string {
	if id < 0 {
		return "-"
	}
	var b [8]byte
	i := len(b)
	for n := int(id) + 1; n > 0; n /= 26 {
		n--
		i--
		b[i] = byte('a' + n%26)
	}
	return string(b[i:])
}

func (p *printer) site(s Site) {
	place := ""
	if s.File != "" || s.Line != 0 {
		place = s.File + ":" + strconv.Itoa(s.Line)
	}
	p.space()
	p.raw(s.Category.String())
	switch {
	case place != "":
		p.words(s.Op, s.Module, place)
	case s.Module != "":
		p.words(s.Op, s.Module)
	case s.Op != "":
		p.words(s.Op)
	}
}

func (p *printer) noteSite(id SiteID) {
	if id == NoSite {
		return
	}
	s := p.t.Site(id)
	p.site(s)
	if s.Phase != Load {
		p.key("phase")
		p.raw(s.Phase.String())
	}
}

func (p *printer) segment(s *Segment) {
	p.words("heap")
	p.space()
	p.hex(s.Addr)
	p.words(s.Size.Compact())
	if s.Small {
		p.words("small")
	}
	if s.Expandable {
		p.words("expandable")
	}
	if s.Stream != 0 {
		p.key("stream")
		p.raw(strconv.Itoa(s.Stream))
	}
	if s.Private != "" {
		p.key("private")
		p.word(s.Private)
	}
	p.end()
	for i := range s.Blocks {
		b := &s.Blocks[i]
		p.words("block", b.Size.Compact(), b.State.String())
		if b.Storage != NoStorage {
			p.letters(b.Storage)
			p.birth[b.Storage] = birth{Event{Storage: b.Storage, Bytes: b.Requested, Addr: b.Addr, Stream: s.Stream,
				Site: NoSite}, true}
		}
		if b.Requested != 0 {
			p.key("requested")
			p.raw(b.Requested.Compact())
		}
		p.end()
	}
}

func (p *printer) event(e *Event) {
	born := Event{Storage: NoStorage, Site: NoSite}
	free := e.Action == FreeRequested || e.Action == FreeCompleted
	if free && e.Storage >= 0 && p.birth[e.Storage].known {
		born = p.birth[e.Storage].event
	}
	s := p.t.Site(e.Site)
	p.enter(e.Pass, s.Phase, e.Site != born.Site && e.Site != NoSite)
	switch e.Action {
	case Alloc:
		p.letters(e.Storage)
		p.raw(" = alloc ")
		p.raw(e.Bytes.Compact())
		if e.Storage >= 0 {
			p.birth[e.Storage] = birth{*e, true}
		}
		if e.Site != NoSite {
			p.site(s)
		}
		born.Bytes, born.Site = e.Bytes, e.Site
	case FreeRequested:
		p.words("free")
		p.letters(e.Storage)
	case FreeCompleted:
		p.words("free_completed")
		p.letters(e.Storage)
	case Mark:
		p.words("mark", s.Op)
		if e.Site == NoSite {
			p.words("nosite")
		} else if s != (Site{Op: s.Op, Phase: s.Phase}) {
			p.site(s)
		}
		born.Site = e.Site
	default:
		p.words(e.Action.String())
	}
	if !free && e.Action != Alloc && e.Storage != NoStorage {
		p.key("storage")
		p.raw(storageName(e.Storage))
	}
	p.rest(e, &born)
	p.end()
}

// enter prints a pass line where the pass changes, or the phase of a site that is about to be
// printed.
func (p *printer) enter(pass int, phase Phase, sited bool) {
	if !sited {
		phase = p.phase
	}
	if pass == p.pass && phase == p.phase {
		return
	}
	p.pass, p.phase = pass, phase
	p.words("pass")
	p.num(int64(pass))
	p.words(phase.String())
	p.end()
}

// rest prints what differs from the birth.
func (p *printer) rest(e, born *Event) {
	if e.Site != born.Site {
		if e.Site == NoSite {
			p.words("nosite")
		} else {
			p.words("at")
			p.site(p.t.Site(e.Site))
		}
	}
	if e.Bytes != born.Bytes {
		p.key("bytes")
		p.raw(e.Bytes.Compact())
	}
	if e.Stream != born.Stream {
		p.key("stream")
		p.raw(strconv.Itoa(e.Stream))
	}
	if e.Addr != born.Addr {
		p.key("addr")
		p.hex(e.Addr)
	}
}
