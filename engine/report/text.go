package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// ShortRows is how many rows of holders a text shows unless asked for all.
const ShortRows = 10

// hostPinnedShown is from which size on text has page-locked memory: each number that is read to
// the host pins a block of its size.
const hostPinnedShown = units.MiB

// WriteText writes the report for people, with at most ShortRows rows of holders.
func WriteText(w io.Writer, r *Report) error { return WriteTextRows(w, r, ShortRows) }

// WriteTextRows is WriteText with at most rows rows of holders; 0 means all. It writes once.
func WriteTextRows(w io.Writer, r *Report, rows int) error {
	var b bytes.Buffer // no write to it fails
	writeText(layout.Wide(&b, layout.Columns(w)), r, rows)
	_, err := b.WriteTo(w)
	return err
}

func writeText(w io.Writer, r *Report, rows int) {
	if r.Serving != nil {
		_ = writeServing(w, r)
		return
	}
	p := layout.To(w)
	p.Line("%s: %s", r.Head(), Headline(r))
	p.Item("artifact", "%s%s", r.Format, orNothing(", ", r.Producer))
	p.Item("run", "%s, torch %s%s", r.howText(), r.Torch, orNothing(", alloc_conf ", r.AllocConf))
	for i, in := range r.Inputs {
		name := "inputs"
		if i > 0 {
			name = ""
		}
		p.Item(name, "%s", in)
	}
	if w, known := r.Value(Weights); known {
		outside := ""
		if r.Outside > 0 {
			outside = ", of it " + Both(r.Outside) + " outside of PyTorch's allocator"
		}
		p.Item("weights", "%s%s", Both(w), outside)
	}
	if !r.Program {
		p.Item("delta", "%s", Both(r.Delta))
	}
	if c := r.Context; c != nil && c.Low == c.High {
		p.Item("context", "%s", Both(c.Low))
	} else if c != nil {
		p.Item("context", "%s to %s: %s; `context:` under `devices:` states it", c.Low, c.High, c.Source)
	}
	if n := r.NCCL; n != nil {
		p.Item("nccl", "%s", n.text())
	}
	if r.HostPinned != nil && *r.HostPinned >= hostPinnedShown {
		p.Item("host pinned", "%s of page-locked memory of the host, no part of the total", Both(*r.HostPinned))
	}
	p.Line("")
	p.Table(2, sizes(r))
	for i := range r.Passes {
		shares(p, r, &r.Passes[i])
	}
	p.Line("")
	p.Item("quality", "%s", qualityText(r))
	if r.OOM != nil {
		p.Item("no room", "%s was asked for at %s, the process may take %s", Both(r.OOM.Requested),
			r.OOM.Moment.String(), Both(r.OOM.Limit))
	}
	_ = WriteAccount(w, r, rows)
	_ = WriteAssumed(w, r)
}

// Head is what ran, and how: "m.pt on t4, eager".
func (r *Run) Head() string { return r.Artifact + " " + r.On() }

// howText is "eager, inference"; of a run that does not record, one word.
func (r *Run) howText() string {
	if r.Runtime == r.Mode {
		return r.Runtime
	}
	return r.Runtime + ", " + r.Mode
}

// Both is a size in binary units and in exact bytes: "2.31 GiB (2480930816 B)".
func Both(b units.Bytes) string { return fmt.Sprintf("%s (%s)", b, b.Exact()) }

// Headline is a report in few words: its peak, or that the run does not fit, which a peak up to
// there must not hide.
func Headline(r *Report) string {
	if r.Serving != nil {
		return r.Serving.headline()
	}
	out := []string{r.Peak.Allocated.String() + " allocated", r.Peak.Reserved.String() + " reserved"}
	if r.FirstCall != nil {
		out = append(out, r.FirstCall.Allocated.String()+" in the first call")
	}
	if low, high, ok := r.TotalRange(); ok {
		out = append(out, low.String()+" to "+high.String()+" total")
	} else if r.Peak.Total != nil {
		out = append(out, r.Peak.Total.String()+" total")
	} else if !slices.Contains(r.Unknown, Total) && r.Runtime != Recorded {
		out = append(out, "total not known")
	}
	peak := "peak " + strings.Join(out, ", ")
	if r.OOM == nil {
		return peak
	}
	return fmt.Sprintf("does not fit: %s asked for at %s, limit %s; until then %s", r.OOM.Requested,
		r.OOM.Moment.String(), r.OOM.Limit, peak)
}

func orNothing(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// QualityWords say what figures of a quality are worth, where several runs are shown together; ""
// for exact ones.
func QualityWords(q Quality) string {
	switch q {
	case Estimated:
		return "estimate: memspec estimate at one value says what was assumed, and the upper figures"
	case Bound:
		return "bound: sizes that data decides are at their upper end"
	case Incomplete:
		return "incomplete: sizes are missing"
	}
	return ""
}

func qualityText(r *Report) string {
	switch r.Quality {
	case Exact:
		if len(r.Notes) > 0 {
			return "exact: what was assumed does not matter to memory"
		}
		return "exact: nothing assumed"
	case Estimated:
		if r.Serving != nil {
			return "estimate: what the driver takes is read off public logs; loaded and activation are exact"
		}
		if r.Upper == nil {
			return "estimate: see what was assumed"
		}
		why := "some library workspace is by formula"
		if r.HasNote(note.LocalsUnknown) {
			why = "the archive does not record what Python's names hold"
		} else if r.HasNote(note.OperatorsDiffer) {
			why = "the live model may run other operators than the program"
		}
		if oom := r.Upper.OOM; oom != nil {
			return fmt.Sprintf("estimate: %s; the upper figure does not fit the device: %s requested with a limit of %s", why,
				oom.Requested, oom.Limit)
		}
		return fmt.Sprintf("estimate: %s; at most %s allocated, %s reserved", why, r.Upper.Allocated, r.Upper.Reserved)
	case Bound:
		if len(r.OtherValues) > 0 {
			return "bound: values that no kernel computed decide: " + valuesText(r)
		}
		return "bound: data-dependent sizes are at their upper bound"
	case Incomplete:
		return "incomplete: " + Lacking(r.Coverage.Unsupported)
	}
	return string(r.Quality)
}

// workspaceText is "53 convolutions as cuDNN 9.10.2 answered for sm89 (engines 1, 38, 55)".
func workspaceText(s *Workspace) string {
	calls := "1 convolution"
	if s.Calls != 1 {
		calls = fmt.Sprintf("%d convolutions", s.Calls)
	}
	if s.Basis == ByRule {
		return calls + " by formula"
	}
	engines := make([]string, len(s.Engines))
	for i, e := range s.Engines {
		engines[i] = strconv.Itoa(e)
	}
	word := "engine"
	if len(engines) != 1 {
		word = "engines"
	}
	text := fmt.Sprintf("%s as %s %s answered for %s (%s %s)", calls, libraryName(s.Library), s.Version, s.Class, word,
		strings.Join(engines, ", "))
	if s.Basis == ByStandIn {
		text += ", for another version"
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

// Lacking says why an account is incomplete, with the first few reasons: "no rule for aten::foo,
// aten::bar", or what it is in the model that cannot be known: "aten::zeros of a value that depends
// on tensor data".
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
		return "upper-bound sizes, which the model rejects: " + u.Detail
	case trace.RefusedWay:
		return "a way that tensor data may choose, which an operator refuses: " + u.Detail
	case trace.CustomClass:
		return "torch.classes " + strings.TrimPrefix(u.Detail+" "+u.Op, " ")
	case trace.CutShort:
		return "what comes after the " + u.Detail + " pass began: the recording ends where memory ran out"
	case trace.FailedState:
		return u.Op + ", which fails: " + u.Detail
	case trace.NotUnderAutocast:
		return "what the live module runs under autocast in the place of " + u.Op + " (trace it under autocast)"
	}
	return strings.TrimSpace(u.Op + " " + u.Detail)
}

// String is "aten::conv2d layer3.5.conv2 resnet.py:146 (forward, first pass)", without what is not
// known.
func (m *Moment) String() string {
	s := m.Site.String()
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
func (p Site) String() string {
	parts := slices.DeleteFunc([]string{p.Op, p.Module, p.Source()}, func(s string) bool { return s == "" })
	return strings.Join(parts, "  ")
}

// Source is "models/unet.py:146": the file with its line, from the package on where it is an
// installed one's, else without its folder where it is an absolute path, which is another on every
// machine; "" where it is not known.
func (p Site) Source() string {
	if p.File == "" {
		return ""
	}
	f := p.File
	if below, ok := Installed(f); ok {
		f = below
	} else if i := strings.LastIndexAny(f, `/\`); i >= 0 &&
		(strings.HasPrefix(f, "/") || strings.ContainsAny(f, `\:`)) {
		f = f[i+1:]
	}
	if p.Line == 0 {
		return f
	}
	return f + ":" + strconv.Itoa(p.Line)
}

// Installed is a file of an installed package, named from the package on:
// torchvision/models/resnet.py.
func Installed(file string) (below string, ok bool) {
	file = strings.ReplaceAll(file, `\`, "/")
	for _, packages := range []string{"/site-packages/", "/dist-packages/"} {
		if i := strings.LastIndex(file, packages); i >= 0 {
			return file[i+len(packages):], true
		}
	}
	return file, false
}

// WriteAccount writes where the peak is, who holds it and what is cached but free: the middle of
// every failing check. At most rows rows of holders are written; 0 means all.
func WriteAccount(w io.Writer, r *Report, rows int) error {
	p := layout.To(w)
	if r.Serving != nil {
		WriteServed(p, r.Serving)
		return p.Err
	}
	if r.PeakAt != nil {
		p.Item("peak at", "%s", r.PeakAt.String())
	}
	when, holders := r.Decisive()
	by, folded := ByModule, Fold(holders)
	if r.Program && DefaultBy(holders) == ByLine {
		by, folded = ByLine, foldLines(holders)
	}
	if len(folded) > 0 {
		p.Line("  held %s:", when)
		held(p, by, folded, rows)
	}
	if r.ReservedAt != nil && r.Peak.Reserved > 0 {
		p.Line("  cached but free: %s (%s of reserved)", r.Cached, Percent(r.Cached, r.Peak.Reserved))
	}
	return p.Err
}

// Percent is part of whole with one decimal: "11.3%".
func Percent(part, whole units.Bytes) string {
	if whole == 0 {
		return "0.0%"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + "%"
}

// WriteRows writes gathered holders as pprof's top does: flat, its share, the running share, place,
// what. Modules have what lies beneath them, too: cum, and its share.
func WriteRows(w io.Writer, by By, rows []Row, most int) error {
	kinds, head := "rrr", []string{"flat", "flat%", "sum%"}
	if by == ByModule {
		kinds, head = kinds+"rr", append(head, "cum", "cum%")
	}
	kinds, head = kinds+"l", append(head, "where")
	if by != ByCategory {
		kinds, head = kinds+"l", append(head, "what")
	} else {
		kinds, head = kinds+"r", append(head, "storages")
	}
	t := layout.NewTable(kinds)
	t.Add(head...)
	var total, sum units.Bytes
	for i := range rows {
		total += rows[i].Flat
	}
	for i := range rows {
		if most > 0 && i == most {
			break
		}
		r := &rows[i]
		sum += r.Flat
		cells := []string{r.Flat.String(), Percent(r.Flat, total), Percent(sum, total)}
		if by == ByModule {
			cells = append(cells, r.Cum.String(), Percent(r.Cum, total))
		}
		last := r.What
		if by == ByCategory {
			last = strconv.Itoa(r.Count)
		}
		where := r.Where
		if by == ByModule && where == "" {
			where = "(root)"
		}
		t.Add(append(cells, where, last)...)
	}
	p := layout.To(w)
	p.Table(2, t)
	if more := len(rows) - most; most > 0 && more > 0 {
		p.Line("  … %d more (-v)", more)
	}
	return p.Err
}

func sizes(r *Report) *layout.Table {
	t := layout.NewTable("lrrr")
	row := func(name string, s Sizes) {
		t.Add(name, s.Requested.String(), s.Allocated.String(), s.Reserved.String())
	}
	t.Add("", "requested", "allocated", "reserved")
	if !r.Program {
		row("baseline", r.Baseline)
	}
	for _, pass := range r.Passes {
		row(r.PassText(&pass), pass.Peak)
		for _, phase := range pass.Phases {
			row("  "+phase.Name, phase.Peak)
		}
	}
	row("peak", Sizes{r.Peak.Requested, r.Peak.Allocated, r.Peak.Reserved})
	t.Add("", r.Peak.Requested.Exact(), r.Peak.Allocated.Exact(), r.Peak.Reserved.Exact())
	return t
}

// held writes folded holders, by module or line; there cum is what the rows down to this one hold
// together.
func held(p *layout.Printer, by By, rows []Row, most int) {
	t := layout.NewTable("rrll")
	t.Add("flat", "cum", string(by), "what")
	var sum units.Bytes
	for i := range rows {
		if most > 0 && i == most {
			break
		}
		sum += rows[i].Flat
		t.Add(rows[i].Flat.String(), sum.String(), rows[i].Where, rows[i].What)
	}
	p.Table(4, t)
	if more := len(rows) - most; most > 0 && more > 0 {
		p.Line("    … %d more (-v)", more)
	}
}
