package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/internal/cli"
)

func newSweep() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep CASE [memspec.yaml] | ARTIFACT",
		Short: "Print the peaks over the values of a dim",
		Long: `Predict a case, or an artifact, at several values of one dim: a table and a picture of the
peaks, and a closed form where they lie on a line to the byte.

A range such as 1..64 is every value of it. A long one such as 1..4096 is its ends and the
multiples of a power of two between them. A third number is the step: 1..4096..1.

Each value is compared with the case's budgets, but the exit code is 0 whatever the result (3
where sizes are missing): memspec check judges, memspec fit searches.`,
		Example: `  memspec sweep 'resnet50[B=1]' --dim B=1..64
  memspec sweep model.pt --input 'x=float32[B,3,224,224]' --dim B=1,2,4,8 --device t4 -o peaks.csv`,
		Args: cli.WantArgs(1, 2, "a CASE and at most one memspec.yaml, or one ARTIFACT"),
	}
	f := cli.NewRunFlags(cmd)
	out := cli.NewOutputs(cmd, 0)
	basis := cli.JudgeFlag(cmd)
	q := cli.NewQuery(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dim, values, err := sweptDim(f)
		if err != nil {
			return err
		}
		s, err := cli.NewSubject(cmd, f, args, basis)
		if err != nil {
			return err
		}
		if err := out.Open(len(values)); err != nil {
			return err
		}
		defer out.Abandon()
		models, err := q.Models()
		if err != nil {
			return err
		}
		results, err := models.Sweep(cmd.Context(), s.One(dim), values)
		if err != nil {
			return cmp.Or(q.Unanswered(), s.Unsearchable(err))
		}
		if err := q.Unanswered(); err != nil {
			return err
		}
		return writeSweep(out, &sweep{Subject: s, dim: dim, values: values, results: results})
	}
	return cmd
}

// maxSwept bounds a sweep: its table is read by people, its CSV by notebooks.
const maxSwept = 10_000

// sweptDim takes the one --dim with several values out of the flags: B=1..64, B=1..64..8, B=1,2,4;
// those with one value stay.
func sweptDim(f *cli.RunFlags) (dim string, values []int64, err error) {
	var rest []string
	for _, d := range f.Dims {
		name, list, ok := strings.Cut(d, "=")
		if !ok || !strings.Contains(list, "..") && !strings.Contains(list, ",") {
			rest = append(rest, d)
			continue
		}
		if dim != "" {
			return "", nil, fmt.Errorf("--dim: got several values for %s and for %s, want them for one", dim,
				strings.TrimSpace(name))
		}
		dim = strings.TrimSpace(name)
		if values, err = valuesOf(list); err != nil {
			return "", nil, fmt.Errorf("--dim %s: %w", dim, err)
		}
	}
	if dim == "" {
		return "", nil, fmt.Errorf("sweep: got no dim with several values, want one such as --dim B=1..64")
	}
	f.Dims = append(rest, dim) // open
	return dim, values, nil
}

func valuesOf(list string) ([]int64, error) {
	var out []int64
	for part := range strings.SplitSeq(list, ",") {
		ends := strings.Split(part, "..")
		if len(ends) > 3 {
			return nil, fmt.Errorf("got %q, want numbers such as 1,2,4, or a range such as 1..64 or 8..64..8", part)
		}
		var n [3]int64
		for i, e := range ends {
			v, err := strconv.ParseInt(strings.TrimSpace(e), 10, 64)
			if err != nil || v < 0 || i == 2 && v == 0 {
				return nil, fmt.Errorf("got %q, want numbers such as 1,2,4, or a range such as 1..64 or 8..64..8", part)
			}
			n[i] = v
		}
		var more []int64
		switch {
		case len(ends) > 1 && n[1] < n[0]:
			return nil, fmt.Errorf("got the range %s, want its end at or behind its beginning", part)
		case len(ends) == 1:
			more = n[:1]
		case len(ends) == 2:
			more = spaced(n[0], n[1])
		case (n[1]-n[0])/n[2] < maxSwept:
			// behind the largest number comes a negative one
			for v := n[0]; len(more) == 0 || v > more[len(more)-1] && v <= n[1]; v += n[2] {
				more = append(more, v)
			}
		}
		if len(more) == 0 || len(out)+len(more) > maxSwept {
			return nil, fmt.Errorf("got more than %d values, want fewer: a range takes a step, as in 1..65536..64",
				maxSwept)
		}
		out = append(out, more...)
	}
	return out, nil
}

// mostEach is up to how many values a range without a step is every one of them.
const mostEach = 128

// spaced are the values of a range without a step: every one, and of a long range the ends with
// what lies between them on the multiples of a power of two.
func spaced(from, to int64) []int64 {
	step := int64(1)
	for (to-from)/step >= mostEach {
		step *= 2
	}
	out := []int64{from}
	for last := from; last < to; out = append(out, last) {
		last -= last % step
		last += min(step, to-last) // never behind the largest number
	}
	return out
}

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
	Closed []closedJSON `json:"closed"` // metrics that lie on a line to the byte
}

type sweptJSON struct {
	Value     int64          `json:"value"`
	Allocated units.Bytes    `json:"allocated"`
	Reserved  units.Bytes    `json:"reserved"`
	Total     *units.Bytes   `json:"total"`
	Fits      bool           `json:"fits"`             // the device, and every budget
	Unsure    bool           `json:"unsure,omitempty"` // it may fit: nobody can say
	Quality   report.Quality `json:"quality"`
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
		p := &r.Report.Peak
		limit := r.Limit(s.values[i])
		j.Points = append(j.Points, sweptJSON{s.values[i], p.Allocated, p.Reserved, p.Total, limit == nil,
			limit != nil && limit.Unsure, r.Report.Quality})
		byMetric[report.Allocated] = append(byMetric[report.Allocated], p.Allocated)
		byMetric[report.Reserved] = append(byMetric[report.Reserved], p.Reserved)
	}
	for _, m := range []report.Metric{report.Allocated, report.Reserved} {
		if c, ok := closed(s.values, byMetric[m]); ok {
			c.Metric = m
			j.Closed = append(j.Closed, c)
		}
	}
	return j
}

// closed is the line on which the peaks lie from some value on: at least half of them, and three.
func closed(xs []int64, ys []units.Bytes) (closedJSON, bool) {
	for from := 0; from <= len(xs)/2; from++ {
		if a, b, ok := suite.Affine(xs[from:], ys[from:]); ok && b > 0 {
			return closedJSON{From: xs[from], Fixed: a, Each: b}, true
		}
	}
	return closedJSON{}, false
}

func (j *sweepJSON) write(w io.Writer, s *sweep) error {
	p := layout.To(w)
	p.Line("%s on %s, by %s:", j.Case, j.Device, j.Dim)
	var most units.Bytes
	for _, pt := range j.Points {
		most = max(most, pt.Reserved)
	}
	t := layout.NewTable("rrrll")
	t.Add(j.Dim, "allocated", "reserved", "fits", "")
	for _, pt := range j.Points {
		fits := "yes"
		switch {
		case pt.Unsure:
			fits = "?"
		case !pt.Fits:
			fits = "no"
		}
		t.Add(strconv.FormatInt(pt.Value, 10), pt.Allocated.String(), pt.Reserved.String(), fits,
			bar(pt.Allocated, pt.Reserved, most))
	}
	p.Table(2, t)
	if words := report.QualityWords(s.quality()); words != "" && s.lacking() == "" {
		p.Item("quality", "%s", words)
	}
	if why := s.lacking(); why != "" {
		p.Item("incomplete", "%s: what it makes is missing from the sizes", why)
	}
	for _, c := range j.Closed {
		p.Item(string(c.Metric), "%s %s %s·%s, to the byte from %s=%d on", c.Fixed, "+", c.Each, j.Dim, j.Dim, c.From)
	}
	return p.Err
}

// barWidth is how many columns the largest peak takes.
const barWidth = 32

// bar draws what is allocated, and behind it what is reserved.
func bar(allocated, reserved, most units.Bytes) string {
	if most == 0 {
		return ""
	}
	width := func(b units.Bytes) int { return int((float64(b)*barWidth)/float64(most) + 0.5) }
	a := width(allocated)
	return strings.Repeat("█", a) + strings.Repeat("░", max(width(reserved)-a, 0))
}
