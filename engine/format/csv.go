package format

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
)

// csvRows writes a row a case and metric, sizes in bytes, for spreadsheets and notebooks; metrics
// without a budget too. A case without a report is one row without a metric; what does not fit has
// the sizes up to there.
type csvRows struct {
	w *csv.Writer
	o Options
}

func newCSV(w io.Writer, o Options) Writer {
	c := &csvRows{w: csv.NewWriter(w), o: o}
	_ = c.w.Write([]string{"spec", "case", "outcome", "artifact", "device", "torch", "runtime", "mode", "quality", "fits",
		"moment", "metric", "metric_outcome", "limit", "before", "predicted",
		"upper", "measured", "over"}) // the error stays with the writer
	return c
}

func (c *csvRows) Case(k *Case) error {
	spec := c.o.Paths.Named(k.Pos.File)
	if spec != "" && k.Pos.Line > 0 {
		spec += ":" + strconv.Itoa(k.Pos.Line)
	}
	outcome := ""
	if k.Judged {
		outcome = k.Outcome.String()
	}
	head := []string{cell(spec), cell(k.Name), outcome}
	r, fits := k.Report, "yes"
	switch {
	case r == nil:
		r, fits = &report.Report{}, ""
	case !r.Fits():
		fits = "no"
	}
	head = append(head, cell(c.o.Paths.Named(r.Artifact)), cell(r.Device), cell(r.Torch), r.Runtime, r.Mode,
		string(r.Quality), fits)
	figures := everyMetric(k)
	if len(figures) == 0 {
		figures = []Figure{{}}
	}
	for _, f := range figures {
		judged := ""
		if k.Judged && f.Limit != nil {
			judged = f.Outcome.String()
		}
		over := ""
		if f.Limit != nil && f.value() != nil {
			over = number(f.over())
		}
		row := append(head[:len(head):len(head)], f.Moment, string(f.Metric), judged, size(f.Limit), size(f.Before),
			size(f.Predicted), size(f.Upper), size(f.Measured), over)
		_ = c.w.Write(row)
	}
	c.w.Flush()
	return c.w.Error()
}

func (c *csvRows) End(*Summary) error {
	c.w.Flush()
	return c.w.Error()
}

// everyMetric are a case's figures, and behind them those metrics of its report that none of them
// is.
func everyMetric(c *Case) []Figure {
	out := append([]Figure{}, c.Figures...)
	if c.Report == nil {
		return out
	}
	for _, f := range ReportFigures(c.Report) {
		known := false
		for _, have := range c.Figures {
			known = known || have.Metric == f.Metric && have.Moment == ""
		}
		if !known {
			out = append(out, f)
		}
	}
	return out
}

func size(b *units.Bytes) string {
	if b == nil {
		return ""
	}
	return number(*b)
}

func number(b units.Bytes) string { return strconv.FormatInt(int64(b), 10) }

// cell is a text that no spreadsheet takes for a formula: one that begins like one is quoted as
// spreadsheets do it.
func cell(s string) string {
	s = oneLine(s)
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
