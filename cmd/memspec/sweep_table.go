package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/internal/cli"
)

type sweep struct {
	*cli.Subject
	dim     string
	values  []int64
	results []*suite.Result
}

type sweepJSON struct {
	Schema int          `json:"schema"`
	Case   string       `json:"case"`
	Device string       `json:"device"`
	Dim    string       `json:"dim"`
	Points []sweptJSON  `json:"points"`
	Grows  *grownJSON   `json:"grows,omitempty"` // nil where fewer than two values run to their end
	Closed []closedJSON `json:"closed"`          // metrics that lie on a line to the byte
}

type sweptJSON struct {
	Value int64 `json:"value"`
	// nil of an engine
	Allocated *units.Bytes `json:"allocated"`
	Reserved  *units.Bytes `json:"reserved"`
	Total     *units.Bytes `json:"total"`

	Passes []sweptPassJSON `json:"passes,omitempty"` // the first, and the most of the later ones
	Held   []report.Share  `json:"held,omitempty"`   // at the allocated peak

	Serving map[report.Metric]units.Bytes `json:"serving,omitempty"` // of an engine, what is known

	Fits    bool           `json:"fits"`             // the device, and every budget
	Unsure  bool           `json:"unsure,omitempty"` // it may fit: nobody can say
	Quality report.Quality `json:"quality"`
}

type sweptPassJSON struct {
	Name      string      `json:"name"`
	Allocated units.Bytes `json:"allocated"`
	Reserved  units.Bytes `json:"reserved"`
}

// grownJSON is what each category holds more at the allocated peak of one value than of another.
type grownJSON struct {
	From int64          `json:"from"`
	To   int64          `json:"to"`
	By   []report.Share `json:"by"` // the most first; less than 0 where it holds less
}

type closedJSON struct {
	Metric report.Metric `json:"metric"`
	From   int64         `json:"from"` // the smallest value on the line
	Fixed  units.Bytes   `json:"fixed"`
	Each   units.Bytes   `json:"each"`
}

func writeSweep(out *cli.Outputs, s *sweep) error {
	j := s.asJSON()
	for i, r := range s.results {
		r.Report = cli.RepositoryPaths().Report(r.Report)
		c := format.Judged(fmt.Sprintf("%s=%d", s.dim, s.values[i]), r.Case.Pos, r.Report, r.Verdict)
		c.Judged = len(r.Verdict.Findings) > 0
		c.Figures = append(c.Figures, j.Points[i].figures()...)
		c.Line = fmt.Sprintf("%s=%d %s: %s", s.dim, s.values[i], r.Report.On(), report.Headline(r.Report))
		c.Text = func(io.Writer) error { return nil } // the table states them together
		if err := out.Add(c); err != nil {
			return err
		}
	}
	code := cli.ExitOK
	if s.lacking() != "" {
		code = cli.ExitUnsure
	}
	if err := out.End(&format.Summary{Exit: code, JSON: j,
		Text: func(w io.Writer) error { return j.write(w, s) }}); err != nil {
		return err
	}
	return cli.ExitWith(code)
}

// quality is that of the first run whose figures are less than exact.
func (s *sweep) quality() report.Quality {
	for _, r := range s.results {
		if r.Report.Quality != report.Exact {
			return r.Report.Quality
		}
	}
	return report.Exact
}

// lacking is what is missing from the account of a run, "" where nothing is.
func (s *sweep) lacking() string {
	for _, r := range s.results {
		if r.Report.Quality == report.Incomplete {
			return report.Lacking(r.Report.Coverage.Unsupported)
		}
	}
	return ""
}

func (s *sweep) asJSON() *sweepJSON {
	j := &sweepJSON{Schema: 1, Case: s.Base.Name, Device: s.Base.Platform.Device.Name, Dim: s.dim,
		Points: []sweptJSON{}, Closed: []closedJSON{}}
	byMetric := map[report.Metric][]units.Bytes{}
	for i, r := range s.results {
		p := pointOf(r, s.values[i])
		j.Points = append(j.Points, p)
		if p.Allocated != nil && p.Reserved != nil {
			byMetric[report.Allocated] = append(byMetric[report.Allocated], *p.Allocated)
			byMetric[report.Reserved] = append(byMetric[report.Reserved], *p.Reserved)
		}
	}
	j.Grows = s.grown(j.Points)
	for _, m := range []report.Metric{report.Allocated, report.Reserved} {
		if c, ok := closed(s.values, byMetric[m]); ok {
			c.Metric = m
			j.Closed = append(j.Closed, c)
		}
	}
	return j
}

func pointOf(r *suite.Result, value int64) sweptJSON {
	limit := r.Limit(value)
	p := sweptJSON{Value: value, Fits: limit == nil, Unsure: limit != nil && limit.Unsure, Quality: r.Report.Quality}
	known := func(m report.Metric) *units.Bytes {
		if v, ok := r.Report.Value(m); ok {
			return &v
		}
		return nil
	}
	if r.Report.Serving != nil {
		p.Serving = map[report.Metric]units.Bytes{}
		for _, m := range report.ServingMetrics() {
			if v := known(m); v != nil {
				p.Serving[m] = *v
			}
		}
		return p
	}
	p.Allocated, p.Reserved, p.Total = known(report.Allocated), known(report.Reserved), known(report.Total)
	for i := range r.Report.Passes {
		pass := &r.Report.Passes[i]
		p.Passes = append(p.Passes, sweptPassJSON{pass.Name, pass.Peak.Allocated, pass.Peak.Reserved})
	}
	p.Held = report.Shares(r.Report.Holders)
	return p
}

// figures are those of a point that no report has as a metric: of each pass, and of each category.
func (p *sweptJSON) figures() []format.Figure {
	var out []format.Figure
	add := func(moment string, m report.Metric, v units.Bytes) {
		out = append(out, format.Figure{Moment: moment, Metric: m, Predicted: &v, Outcome: verdict.Pass})
	}
	for _, pass := range p.Passes {
		add(pass.Name, report.Allocated, pass.Allocated)
		add(pass.Name, report.Reserved, pass.Reserved)
	}
	for _, share := range p.Held {
		add("peak", report.Metric(share.Category), share.Bytes)
	}
	return out
}

// grown compares the smallest and the largest value whose run comes to its end; nil where that is
// one value, or none.
func (s *sweep) grown(points []sweptJSON) *grownJSON {
	first, last := -1, -1
	for i, r := range s.results {
		switch {
		case r.Report.Serving != nil || r.Report.OOM != nil:
			continue
		case first < 0:
			first, last = i, i
		}
		if s.values[i] < s.values[first] {
			first = i
		}
		if s.values[i] > s.values[last] {
			last = i
		}
	}
	if first == last {
		return nil
	}
	by := map[string]units.Bytes{}
	for _, share := range points[last].Held {
		by[share.Category] += share.Bytes
	}
	for _, share := range points[first].Held {
		by[share.Category] -= share.Bytes
	}
	g := &grownJSON{From: s.values[first], To: s.values[last], By: []report.Share{}}
	for _, c := range report.Categories() {
		if n := by[c[0]]; n != 0 {
			g.By = append(g.By, report.Share{Category: c[0], Bytes: n})
		}
	}
	slices.SortStableFunc(g.By, func(a, b report.Share) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return g
}

// closed is the line on which the peaks lie from some value on: at least half of them, and three.
func closed(xs []int64, ys []units.Bytes) (closedJSON, bool) {
	for from := 0; len(xs) == len(ys) && from <= len(xs)/2; from++ {
		if a, b, ok := suite.Affine(xs[from:], ys[from:]); ok && b > 0 {
			return closedJSON{From: xs[from], Fixed: a, Each: b}, true
		}
	}
	return closedJSON{}, false
}

// differ says whether a point has passes of which one takes otherwise than the whole run.
func (p *sweptJSON) differ() bool {
	return len(p.Passes) > 1 && p.Allocated != nil && p.Reserved != nil &&
		slices.ContainsFunc(p.Passes, func(pass sweptPassJSON) bool {
			return pass.Allocated != *p.Allocated || pass.Reserved != *p.Reserved
		})
}

func (j *sweepJSON) write(w io.Writer, s *sweep) error {
	p := layout.To(w)
	p.Line("%s on %s, by %s:", j.Case, j.Device, j.Dim)
	p.Table(2, j.table())
	if words := report.QualityWords(s.quality()); words != "" && s.lacking() == "" {
		p.Item("quality", "%s", words)
	}
	if why := s.lacking(); why != "" {
		p.Item("incomplete", "%s: what it makes is missing from the sizes", why)
	}
	if g := j.Grows; g != nil && len(g.By) > 0 {
		var parts []string
		for _, share := range g.By {
			parts = append(parts, report.CategoryText(share.Category)+" "+report.Signed(share.Bytes))
		}
		p.Item("grows", "%s: at the allocated peak, from %s=%d to %d", strings.Join(parts, ", "), j.Dim, g.From, g.To)
	}
	for _, c := range j.Closed {
		p.Item(string(c.Metric), "%s + %s·%s, to the byte from %s=%d on", c.Fixed, c.Each, j.Dim, j.Dim, c.From)
	}
	return p.Err
}

// table has a row for each value, and the passes of a run apart where they differ. Of an engine it
// has the engine's figures.
func (j *sweepJSON) table() *layout.Table {
	var most units.Bytes
	passes, serving := []string(nil), false
	for i := range j.Points {
		pt := &j.Points[i]
		if pt.Reserved != nil {
			most = max(most, *pt.Reserved)
		}
		if passes == nil && pt.differ() {
			for _, pass := range pt.Passes {
				passes = append(passes, pass.Name)
			}
		}
		serving = serving || pt.Serving != nil
	}
	head := []string{j.Dim}
	switch {
	case serving:
		for _, m := range report.ServingMetrics() {
			head = append(head, string(m))
		}
	case passes != nil:
		for _, name := range passes {
			head = append(head, name+": allocated", "reserved")
		}
	default:
		head = append(head, "allocated", "reserved")
	}
	t := layout.NewTable(strings.Repeat("r", len(head)) + "ll")
	t.Add(append(head, "fits", "")...)
	for i := range j.Points {
		pt := &j.Points[i]
		t.Add(append(pt.cells(passes, serving), pt.fitsText(), bar(pt.Allocated, pt.Reserved, most))...)
	}
	return t
}

// cells are a point's value and figures, "" where one is not known.
func (p *sweptJSON) cells(passes []string, serving bool) []string {
	out := []string{strconv.FormatInt(p.Value, 10)}
	add := func(m report.Metric, v *units.Bytes) {
		text := ""
		if v != nil {
			text = m.Text(*v)
		}
		out = append(out, text)
	}
	switch {
	case serving:
		for _, m := range report.ServingMetrics() {
			if v, ok := p.Serving[m]; ok {
				add(m, &v)
			} else {
				add(m, nil)
			}
		}
	case passes != nil:
		for _, name := range passes {
			var allocated, reserved *units.Bytes
			if at := slices.IndexFunc(p.Passes, func(o sweptPassJSON) bool { return o.Name == name }); at >= 0 {
				allocated, reserved = &p.Passes[at].Allocated, &p.Passes[at].Reserved
			}
			add(report.Allocated, allocated)
			add(report.Reserved, reserved)
		}
	default:
		add(report.Allocated, p.Allocated)
		add(report.Reserved, p.Reserved)
	}
	return out
}

func (p *sweptJSON) fitsText() string {
	switch {
	case p.Unsure:
		return "?"
	case !p.Fits:
		return "no"
	}
	return "yes"
}

// barWidth is how many columns the largest peak takes.
const barWidth = 32

// bar draws what is allocated, and behind it what is reserved.
func bar(allocated, reserved *units.Bytes, most units.Bytes) string {
	if most == 0 || allocated == nil || reserved == nil {
		return ""
	}
	width := func(b units.Bytes) int { return int((float64(b)*barWidth)/float64(most) + 0.5) }
	a := width(*allocated)
	return strings.Repeat("█", a) + strings.Repeat("░", max(width(*reserved)-a, 0))
}
