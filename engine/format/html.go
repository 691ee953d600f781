package format

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/verdict"
)

// mostPictures is how many cases of a page are drawn; beyond it only those that are not right, and
// as many again at most. A page of all would be larger than browsers open.
const mostPictures = 1000

// mostOpened is how many failing cases of a page are open from the start: each is drawn at once.
const mostOpened = 10

// page writes one page for people: a table of the cases and, for each, its figures, findings, notes
// and account, all of which is there without a script. The script draws what a case's data report:
// the timeline with its budgets, the holders of the peak as an icicle, the segments with their
// blocks. Nothing is loaded from anywhere, and the page's own policy forbids it.
type page struct {
	w        io.Writer
	o        Options
	count    counts
	judged   int
	cases    []pageCase // without what their sections hold
	pictures int
	undrawn  int
	beside   bool // some cases are drawn side by side
	opened   int  // cases that are open from the start
	sections bytes.Buffer
	shared   *shared
}

func newHTML(w io.Writer, o Options) Writer { return &page{w: w, o: o, shared: newShared()} }

//go:embed html
var htmlFiles embed.FS

// htmlScripts are the script's parts, in the order they are joined.
var htmlScripts = []string{"html/draw.js", "html/history.js", "html/timeline.js", "html/icicle.js", "html/segments.js",
	"html/page.js"}

// pageTemplates are read for the first page, not as the command starts.
var pageTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").ParseFS(htmlFiles, "html/*.html"))
})

// asset is a file of the page's own, without the blanks at its end.
func asset(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		text, err := htmlFiles.ReadFile(name)
		if err != nil {
			panic(err) // embedded
		}
		b.Write(text)
	}
	return "\n" + strings.TrimRight(b.String(), "\n") + "\n"
}

// policyHash names a script or a style in the page's policy: no other is run.
func policyHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// pageCase is what the templates show of a case.
type pageCase struct {
	ID                    int
	Name, Outcome, Line   string
	Beside                bool // drawn side by side with others
	Open                  bool // from the start
	RestsOn               string
	Spec                  string
	Allocated, Reserved   string
	Budget                string // the tightest: "reserved 276.0 MiB of 64.0 MiB"
	Share                 string // of it that is used: "431%"
	Facts                 [][2]string
	Figures               []pageFigure
	Limits, Befores       bool
	Measureds             bool
	Findings, Notes       []string
	Account               string
	Data                  template.JS // JSON
	AllocatedB, ReservedB int64
	ShareB                float64
}

type pageFigure struct{ Name, Limit, Before, Predicted, Change, Measured, Outcome, Exact string }

func (p *page) Case(c *Case) error {
	k := pageCase{ID: len(p.cases), Name: c.title(), Line: oneLine(c.Line), Account: plain(c.account()),
		Beside: c.Beside, Open: c.fails() && p.opened < mostOpened}
	if k.Open {
		p.opened++
	}
	if c.Judged {
		p.judged++
		p.count[c.Outcome]++
		k.Outcome = c.Outcome.String()
	}
	if c.Pos.File != "" {
		k.Spec = oneLine(p.o.Paths.Named(c.Pos.File))
		if c.Pos.Line > 0 {
			k.Spec += fmt.Sprintf(":%d", c.Pos.Line)
		}
	}
	k.figures(c)
	for _, f := range c.Findings {
		k.Findings = append(k.Findings, f.Outcome.String()+": "+oneLine(f.Text))
	}
	k.describe(c.Report, p.o.Paths)
	if c.RestsOn != "" {
		k.RestsOn = oneLine(c.RestsOn)
	}
	if c.Timeline != nil {
		if p.drawn(c) {
			text, err := json.Marshal(pictureOf(c, p.o.Paths, p.shared)) // it escapes <, > and &
			if err != nil {
				return err
			}
			k.Data = template.JS(text)
		} else {
			p.undrawn++
		}
	}
	err := pageTemplates().ExecuteTemplate(&p.sections, "case.html", k)
	k.Data, k.Account, k.Facts, k.Notes, k.Findings, k.Figures = "", "", nil, nil, nil, nil
	p.beside = p.beside || c.Beside
	p.cases = append(p.cases, k)
	return err
}

// drawn says whether a case gets pictures, and counts it.
func (p *page) drawn(c *Case) bool {
	good := !c.Judged || c.Outcome == verdict.Pass
	if p.pictures >= 2*mostPictures || good && p.pictures >= mostPictures {
		return false
	}
	p.pictures++
	return true
}

// figures are the numbers of a case as they are shown, and the tightest budget among them.
func (k *pageCase) figures(c *Case) {
	if c.Report != nil && c.Report.Serving == nil {
		k.Allocated, k.Reserved = c.Report.Peak.Allocated.String(), c.Report.Peak.Reserved.String()
		k.AllocatedB, k.ReservedB = int64(c.Report.Peak.Allocated), int64(c.Report.Peak.Reserved)
	}
	if c.Report != nil && c.Report.OOM != nil {
		k.Budget = fmt.Sprintf("does not fit: %s asked for, limit %s", c.Report.OOM.Requested, c.Report.OOM.Limit)
	}
	if c.Report != nil && !c.Report.Fits() && c.Report.Serving != nil {
		k.Budget = "does not fit: " + oneLine(c.Report.Serving.Unfit)
	}
	for _, f := range c.figures() {
		v := f.value()
		g := pageFigure{Name: oneLine(f.Name()), Limit: f.text(f.Limit), Before: f.text(f.Before),
			Predicted: f.text(f.Predicted), Change: f.changed(), Measured: f.text(f.Measured)}
		if c.Judged && f.Limit != nil {
			g.Outcome = f.Outcome.String()
		}
		if v != nil {
			g.Exact = f.Metric.Exact(*v)
		}
		k.Limits = k.Limits || f.Limit != nil
		k.Befores = k.Befores || f.Before != nil
		k.Measureds = k.Measureds || f.Measured != nil
		k.Figures = append(k.Figures, g)
		if f.Limit == nil || v == nil || c.Report != nil && !c.Report.Fits() {
			continue
		}
		of, limit, between := *v, *f.Limit, " of "
		if f.Metric.Counts() {
			of, limit, between = limit, of, ", at least "
		}
		if limit <= 0 {
			continue
		}
		if share := float64(of) / float64(limit); k.Budget == "" || share > k.ShareB {
			k.ShareB, k.Share = share, report.Percent(of, limit)
			k.Budget = oneLine(f.Name()) + " " + f.text(v) + between + f.text(f.Limit)
		}
	}
}

// describe says what ran, on what, and what was assumed.
func (k *pageCase) describe(r *report.Report, paths Paths) {
	if r == nil {
		return
	}
	fact := func(name, value string) {
		if value = oneLine(value); value != "" {
			k.Facts = append(k.Facts, [2]string{name, value})
		}
	}
	fact("artifact", strings.Trim(paths.Named(r.Artifact)+", "+r.Format+", "+r.Producer, ", "))
	fact("run", r.Runtime+", "+r.Mode+", torch "+r.Torch)
	fact("device", r.Device)
	fact("alloc_conf", r.AllocConf)
	fact("inputs", strings.Join(r.Inputs, ", "))
	fact("quality", string(r.Quality))
	if r.PeakAt != nil {
		fact("allocated peak at", r.PeakAt.String())
	}
	if r.ReservedAt != nil {
		fact("reserved grew last at", r.ReservedAt.String())
	}
	if r.Cached > 0 {
		fact("cached but free", fmt.Sprintf("%s (%s of reserved)", r.Cached, report.Percent(r.Cached, r.Peak.Reserved)))
	}
	if r.OOM != nil {
		fact("does not fit", fmt.Sprintf("%s was asked for at %s, the process may take %s", r.OOM.Requested,
			r.OOM.Moment.String(), r.OOM.Limit))
	}
	for _, line := range report.Assumed(r.Notes) {
		k.Notes = append(k.Notes, oneLine(line))
	}
}

func (p *page) End(*Summary) error {
	common, err := json.Marshal(p.shared)
	if err != nil {
		return err
	}
	style, script := asset("html/page.css"), asset(htmlScripts...)
	head := struct {
		Title, Counts, Version, Undrawn string
		Policy                          string
		Cases                           []pageCase
		Judged, Beside                  bool
		Style                           template.CSS
		Script, Shared                  template.JS
		Sections                        template.HTML // made by a template
	}{
		Title: plural(len(p.cases), "case", "cases"), Counts: outcomeCounts(&p.count), Version: oneLine(p.o.Version),
		Cases: p.cases, Judged: p.judged > 0, Beside: p.beside,
		Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + policyHash(style) + "; script-src " +
			policyHash(script),
		Style: template.CSS(style), Script: template.JS(script), Shared: template.JS(common),
		Sections: template.HTML(p.sections.String()),
	}
	if p.undrawn > 0 {
		head.Undrawn = plural(p.undrawn, "case that passes is", "cases are") + " not drawn: a page of all would be larger " +
			"than browsers open. memspec check --case draws any."
	}
	return pageTemplates().ExecuteTemplate(p.w, "page.html", head)
}
