package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// ShortRows is how many rows of holders a text shows unless asked for all.
const ShortRows = 10

// WriteText writes the report for people, with at most ShortRows rows of holders.
func WriteText(w io.Writer, r *Report) error { return WriteTextRows(w, r, ShortRows) }

// WriteTextRows is WriteText with at most rows rows of holders; 0 means all. It writes once.
func WriteTextRows(w io.Writer, r *Report, rows int) error {
	var b bytes.Buffer
	if err := writeText(&b, r, rows); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}

func writeText(w io.Writer, r *Report, rows int) error {
	p := &printer{w: w}
	p.f("%s on %s: %s\n", r.Artifact, r.Device, Headline(r))
	p.item("artifact", "%s%s", r.Format, orNothing(", ", r.Producer))
	p.item("run", "%s, %s, torch %s%s", r.Runtime, r.Mode, r.Torch, orNothing(", alloc_conf ", r.AllocConf))
	for i, in := range r.Inputs {
		name := "inputs"
		if i > 0 {
			name = ""
		}
		p.item(name, "%s", in)
	}
	p.item("weights", "%s", Both(r.Weights))
	p.item("delta", "%s", Both(r.Delta))
	p.f("\n")
	p.sizes(r)
	p.f("\n")
	p.item("quality", "%s", qualityText(r))
	if r.OOM != nil {
		p.item("no room", "%s was asked for at %s, the process may take %s", Both(r.OOM.Requested), r.OOM.Moment.String(), Both(r.OOM.Limit))
	}
	if p.err != nil {
		return p.err
	}
	if err := WriteAccount(w, r, rows); err != nil {
		return err
	}
	return WriteAssumed(w, r)
}

// Both is a size in binary units and in exact bytes: "2.31 GiB (2480930816 B)".
func Both(b units.Bytes) string { return fmt.Sprintf("%s (%s)", b, b.Exact()) }

// Headline is a report in few words: its peak, or that the run does not fit, which a peak up to there must not hide.
func Headline(r *Report) string {
	out := []string{r.Peak.Allocated.String() + " allocated", r.Peak.Reserved.String() + " reserved"}
	if r.Peak.Total != nil {
		out = append(out, r.Peak.Total.String()+" total")
	}
	peak := "peak " + strings.Join(out, ", ")
	if r.OOM == nil {
		return peak
	}
	return fmt.Sprintf("does not fit: %s asked for at %s, limit %s; until then %s", r.OOM.Requested, r.OOM.Moment.String(), r.OOM.Limit, peak)
}

func orNothing(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func qualityText(r *Report) string {
	switch r.Quality {
	case Exact:
		if len(r.Notes) > 0 {
			return "exact: what was assumed does not matter to memory"
		}
		return "exact: nothing assumed"
	case Estimated:
		if r.Upper == nil {
			return "estimate: see what was assumed"
		}
		why := "some library scratch is by rule"
		if r.HasNote(note.LocalsUnknown) {
			why = "the archive does not tell what Python's names hold"
		}
		return fmt.Sprintf("estimate: %s; at its most %s allocated, %s reserved", why, r.Upper.Allocated, r.Upper.Reserved)
	case Bound:
		return "bound: data-dependent sizes are at their most"
	case Incomplete:
		return "incomplete: " + Lacking(r.Coverage.Unsupported)
	}
	return string(r.Quality)
}

// scratchText is "53 convolutions as cuDNN 9.10.2 answered for sm89 (engines 1, 38, 55)".
func scratchText(s *Scratch) string {
	calls := "1 convolution"
	if s.Calls != 1 {
		calls = fmt.Sprintf("%d convolutions", s.Calls)
	}
	if s.Basis == ByRule {
		return calls + " by rule"
	}
	engines := make([]string, len(s.Engines))
	for i, e := range s.Engines {
		engines[i] = strconv.Itoa(e)
	}
	word := "engine"
	if len(engines) != 1 {
		word = "engines"
	}
	text := fmt.Sprintf("%s as %s %s answered for %s (%s %s)", calls, libraryName(s.Library), s.Version, s.Class, word, strings.Join(engines, ", "))
	if s.Basis == ByStandIn {
		text += ", standing in"
	}
	return text
}

// libraryName is a library as its maker writes it.
func libraryName(name string) string {
	if name == "cudnn" {
		return "cuDNN"
	}
	return name
}

// Lacking says why an account is incomplete, with the first few reasons: "no rule for aten::foo, aten::bar", or what it is in the model that cannot
// be told: "aten::zeros of a value that depends on tensor data".
func Lacking(us []Unsupported) string {
	const most = 5
	var names, others []string
	for _, u := range us[:min(len(us), most)] {
		if u.Reason == trace.NoRule {
			names = append(names, u.Op)
		} else {
			others = append(others, u.Text())
		}
	}
	if len(names) > 0 {
		others = append([]string{"no rule for " + strings.Join(names, ", ")}, others...)
	}
	if len(us) > most {
		others = append(others, fmt.Sprintf("%d more", len(us)-most))
	}
	return strings.Join(others, "; ")
}

// Text says what is missing: an operator without a rule by its name, anything else with the reason.
func (u *Unsupported) Text() string {
	switch u.Reason {
	case trace.NoRule:
		return u.Op
	case trace.ReadsData:
		return u.Op + " of a value that depends on tensor data"
	case trace.OpenLoop:
		return u.Op + " of a length that depends on tensor data"
	case trace.ManyBranches:
		return u.Op + " on tensor data in more than " + u.Detail + " combinations"
	case trace.RefusedAtMost:
		return "sizes at their most, which the model refuses: " + u.Detail
	case trace.CustomClass:
		return "torch.classes " + strings.TrimPrefix(u.Detail+" "+u.Op, " ")
	case trace.FailedState:
		return u.Op + ", which fails: " + u.Detail
	}
	return strings.TrimSpace(u.Op + " " + u.Detail)
}

// String is "aten::conv2d  layer3.5.conv2  resnet.py:146 (forward, first pass)", without what is not known.
func (m *Moment) String() string {
	s := m.Place.String()
	var when []string
	if m.Phase != "" {
		when = append(when, m.Phase)
	}
	if m.Pass != "" {
		when = append(when, m.Pass+" pass")
	}
	if len(when) > 0 {
		s += " (" + strings.Join(when, ", ") + ")"
	}
	return strings.TrimSpace(s)
}

// String is "aten::conv2d  layer3.5.conv2  resnet.py:146", without what is not known.
func (p Place) String() string {
	parts := make([]string, 0, 3)
	for _, s := range []string{p.Op, p.Module, p.Source()} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "  ")
}

// Source is "resnet.py:146": the file without its folder, which is another on every machine; "" where it is not known.
func (p Place) Source() string {
	if p.File == "" {
		return ""
	}
	f := p.File
	if i := strings.LastIndexAny(f, `/\`); i >= 0 {
		f = f[i+1:]
	}
	if p.Line == 0 {
		return f
	}
	return f + ":" + strconv.Itoa(p.Line)
}

// WriteAccount writes where the peak is, who holds it and what is cached but free: the middle of every failing check.
// At most rows rows of holders are written; 0 means all.
func WriteAccount(w io.Writer, r *Report, rows int) error {
	p := &printer{w: w}
	if r.PeakAt != nil {
		p.item("peak at", "%s", r.PeakAt.String())
	}
	if folded := Fold(r.Holders); len(folded) > 0 {
		p.f("  held at the peak:\n")
		p.held(folded, rows)
	}
	if r.ReservedAt != nil && r.Peak.Reserved > 0 {
		p.f("  cached but free: %s (%s of reserved)\n", r.Cached, Percent(r.Cached, r.Peak.Reserved))
	}
	return p.err
}

// WriteAssumed writes who answered for the libraries' scratch, and the notes: those of one text in a line, with the first place and how many
// there are.
func WriteAssumed(w io.Writer, r *Report) error {
	p := &printer{w: w}
	name := "scratch"
	for i := range r.Scratch {
		p.item(name, "%s", scratchText(&r.Scratch[i]))
		name = ""
	}
	for i := range r.Holders {
		if h := &r.Holders[i]; h.Source != "" {
			p.item(name, "%s held at the peak: %s", Both(h.Flat), h.Source)
		}
	}
	if len(r.Notes) > 0 {
		p.f("  assumed:\n")
	}
	for _, g := range gatherNotes(r.Notes) {
		p.f("    %s\n", g.String())
	}
	return p.err
}

// noteGroup is the notes of one ID and text.
type noteGroup struct {
	Note
	places int
	assume []string // each once, in order
}

// gatherNotes puts notes that differ in their place alone together, in the order of their first.
func gatherNotes(notes []Note) []*noteGroup {
	type key struct {
		id   note.ID
		text string
	}
	var out []*noteGroup
	at := map[key]*noteGroup{}
	for _, n := range notes {
		k := key{n.ID, n.Text}
		g := at[k]
		if g == nil {
			g = &noteGroup{Note: n}
			at[k] = g
			out = append(out, g)
		}
		g.places++
		if n.Assume != "" && !slices.Contains(g.assume, n.Assume) {
			g.assume = append(g.assume, n.Assume)
		}
	}
	return out
}

// String is "scratch-estimate: a convolution's workspace is by rule; at 53 places, first at aten::conv2d  conv1  resnet.py:268".
func (g *noteGroup) String() string {
	k, _ := note.Of(g.ID)
	s := string(g.ID) + ": " + g.Text + k.AssumeHint(g.assume...)
	switch first := g.First.String(); {
	case first == "":
		return s
	case g.places > 1:
		return fmt.Sprintf("%s; at %d places, first at %s", s, g.places, first)
	default:
		return s + "; first at " + first
	}
}

// Percent is part of whole with one decimal: "11.3%".
func Percent(part, whole units.Bytes) string {
	if whole == 0 {
		return "0.0%"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + "%"
}

// WriteRows writes gathered holders as pprof's top does: flat, its share, the running share, cum, its share, place, what.
func WriteRows(w io.Writer, rows []Row, most int) error {
	var total units.Bytes
	for i := range rows {
		total += rows[i].Flat
	}
	t := &table{right: []bool{true, true, true, true, true, true, false, false}}
	t.add("flat", "flat%", "sum%", "cum", "cum%", "count", "where", "what")
	var sum units.Bytes
	for i := range rows {
		if most > 0 && i == most {
			break
		}
		r := &rows[i]
		sum += r.Flat
		t.add(r.Flat.String(), Percent(r.Flat, total), Percent(sum, total), r.Cum.String(), Percent(r.Cum, total),
			strconv.Itoa(r.Count), r.Where, r.What)
	}
	p := &printer{w: w}
	p.table("  ", t)
	if more := len(rows) - most; most > 0 && more > 0 {
		p.f("  … %d more (-v)\n", more)
	}
	return p.err
}

// A printer writes lines and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// item writes "  name       text".
func (p *printer) item(name, format string, args ...any) {
	p.f("  %-9s  %s\n", name, fmt.Sprintf(format, args...))
}

func (p *printer) sizes(r *Report) {
	t := &table{right: []bool{false, true, true, true}}
	row := func(name string, s Sizes) {
		t.add(name, s.Requested.String(), s.Allocated.String(), s.Reserved.String())
	}
	t.add("", "requested", "allocated", "reserved")
	row("baseline", r.Baseline)
	for _, pass := range r.Passes {
		row(pass.Name+" pass", pass.Peak)
		for _, phase := range pass.Phases {
			row("  "+phase.Name, phase.Peak)
		}
	}
	row("peak", Sizes{r.Peak.Requested, r.Peak.Allocated, r.Peak.Reserved})
	t.add("", r.Peak.Requested.Exact(), r.Peak.Allocated.Exact(), r.Peak.Reserved.Exact())
	p.table("  ", t)
}

// held writes folded holders; there cum is what the rows down to this one hold together.
func (p *printer) held(rows []Row, most int) {
	t := &table{right: []bool{true, true, false, false}}
	t.add("flat", "cum", "module", "what")
	var sum units.Bytes
	for i := range rows {
		if most > 0 && i == most {
			break
		}
		sum += rows[i].Flat
		t.add(rows[i].Flat.String(), sum.String(), rows[i].Where, rows[i].What)
	}
	p.table("    ", t)
	if more := len(rows) - most; most > 0 && more > 0 {
		p.f("    … %d more (-v)\n", more)
	}
}

// A table aligns cells by column.
type table struct {
	right []bool
	cells [][]string
}

func (t *table) add(cells ...string) { t.cells = append(t.cells, cells) }

func (p *printer) table(indent string, t *table) {
	width := make([]int, len(t.right))
	for _, row := range t.cells {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, row := range t.cells {
		b.Reset()
		b.WriteString(indent)
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i > 0 {
				b.WriteString("  ")
			}
			if t.right[i] {
				b.WriteString(pad + c)
			} else {
				b.WriteString(c + pad)
			}
		}
		p.f("%s\n", strings.TrimRight(b.String(), " "))
	}
}
