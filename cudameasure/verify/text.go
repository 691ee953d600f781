package verify

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/memspec/memspec/cudameasure"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// WriteText writes what check says of the case, then its comparisons, then the commands that give
// them again.
func (a *Account) WriteText(w io.Writer, reproduce ...string) error {
	p := layout.To(w)
	p.Line("%s", a.head())
	p.Item("predicted", "%s", oneLine(a.Line()))
	if a.Failed != nil {
		p.Item("error", "%s", oneLine(a.failure()))
	}
	for _, s := range a.Skipped {
		if s.File != "" {
			p.Item("left out", "%s: %s", s.File, s.Why)
		}
	}
	if why := a.NotMeasured(); why != "" && a.Failed == nil {
		p.Line("  %s", why)
	}
	for i := range a.Compared {
		if p.Err == nil {
			p.Err = a.Compared[i].writeText(w)
		}
	}
	name := "reproduce"
	for _, command := range reproduce {
		if command != "" {
			p.Command(name, command)
			name = ""
		}
	}
	return p.Err
}

func (a *Account) head() string { return strings.ToUpper(a.Outcome.String()) + " " + a.Case.Name }

// Headline is the account in one line: the outcome, the case, and what is not right first of all.
func (a *Account) Headline() string {
	why := a.NotMeasured()
	switch {
	case a.Err != nil:
		why = oneLine(a.Err.Error())
	case a.Failed != nil:
		why = oneLine(a.failure())
	case a.Verdict.Outcome == a.Outcome && a.Outcome != verdict.Pass:
		return a.Line()
	}
	for i := range a.Compared {
		for _, f := range a.Compared[i].Findings {
			return a.head() + ": " + f.Text
		}
	}
	if why == "" {
		why = cudameasure.Measured(a.On) + " as predicted"
	}
	return a.head() + ": " + why
}

// NotMeasured says that there is no measurement, and why; empty where there is one.
func (a *Account) NotMeasured() string {
	if len(a.Compared) > 0 {
		return ""
	}
	text := "not measured"
	if a.On == recording.OnPretend {
		text = "not run on a pretend GPU"
	}
	for _, s := range a.Skipped {
		if s.File == "" {
			text += ": " + oneLine(s.Why)
		}
	}
	switch {
	case a.Required && a.On == recording.OnPretend:
		text += "; a run is required"
	case a.Required:
		text += "; a measurement is required"
	}
	return text
}

func (c *Compared) writeText(w io.Writer) error {
	m := c.Measured
	from := m.File
	if from == "" {
		from = "this machine"
	}
	p := layout.To(w)
	if m.Where == recording.OnPretend {
		p.Item("pretend", "no GPU: a pretend %s, torch %s (%s)", m.Device.Name, m.Torch, from)
	} else {
		p.Item("measured", "%s, torch %s (%s)", m.Device.Name, m.Torch, from)
	}
	for _, f := range c.Findings {
		word := "broken"
		switch {
		case f.Unknown:
			word = "unsure"
		case f.Warn:
			word = "warning"
		}
		p.Item(word, "%s", f.Text)
	}
	if p.Err == nil {
		p.Err = c.WriteTable(w)
	}
	if cost, known := m.ContextCost(); known {
		p.Item("context", "%s (%s) outside the allocator", cost, cost.Exact())
	}
	if s := m.Sampled; s != nil {
		p.Item("device", "at most %s more in use than before, in %d samples", s.Rise(), s.Samples)
	}
	p.Item("events", "%s", c.eventsText())
	return p.Err
}

func (c *Compared) eventsText() string {
	switch {
	case !c.Aligned:
		return "not recorded"
	case c.Parts == nil:
		return "both streams are the same"
	}
	return fmt.Sprintf("the streams part after %d: %s: %s %s, predicted %s", c.Parts.Compared, c.Parts.Why,
		cudameasure.Measured(c.Measured.Where), strings.TrimSpace(c.Parts.BText), strings.TrimSpace(c.Parts.AText))
}

// failure is why the run failed, without the case's name.
func (a *Account) failure() string {
	var run *cudameasure.RunError
	if errors.As(a.Failed, &run) {
		return run.Why()
	}
	return a.Failed.Error()
}

// Command is the command that compares the case again, with the records of a folder or, for an
// empty one, run on this machine. A case that was written in Go has none.
func (a *Account) Command(dir string) string {
	c := &a.Case
	if c.Pos.File == "" {
		return ""
	}
	words := "memspec verify --case " + layout.ShellQuote(c.Name) + " " + layout.ShellQuote(c.Pos.File)
	if a.On == recording.OnPretend {
		words += " --on pretend"
	}
	if dir != "" {
		words += " --measured " + layout.ShellQuote(dir)
	}
	return words
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// JSON is the account as memspec verify --format json writes it.
type JSON struct {
	Name      string          `json:"name"`
	Spec      string          `json:"spec"`
	Outcome   verdict.Outcome `json:"outcome"`
	Predicted verdict.Outcome `json:"predicted"` // what check says
	Error     string          `json:"error"`     // of the prediction, else of the run
	Measured  []ComparedJSON  `json:"measured"`
	Skipped   []Skipped       `json:"skipped"`
}

// ComparedJSON is one comparison.
type ComparedJSON struct {
	File     string                `json:"file"`  // empty: run on this machine
	Where    recording.Where       `json:"where"` // cuda, or pretend: no GPU took these numbers
	Device   string                `json:"device"`
	Torch    string                `json:"torch"`
	Context  *units.Bytes          `json:"context"` // null: not known
	Rows     []RowJSON             `json:"rows"`
	Findings []cudameasure.Finding `json:"findings"`
	Events   *EventsJSON           `json:"events"` // null: the record has none
}

// RowJSON is a number predicted and measured.
type RowJSON struct {
	cudameasure.Row
	Difference units.Bytes `json:"difference"` // measured less predicted: above 0 is an under-estimate
	Under      bool        `json:"under"`
}

// EventsJSON says where the streams of events first part.
type EventsJSON struct {
	Agree     bool   `json:"agree"`
	Compared  int    `json:"compared"` // that agree; 0 where all do
	Why       string `json:"why"`
	Predicted string `json:"predicted"`
	Measured  string `json:"measured"`
}

// AsJSON is the account for programs.
func (a *Account) AsJSON() JSON {
	pos := a.Case.Pos
	pos.Col = 0
	j := JSON{Name: a.Case.Name, Spec: pos.String(), Outcome: a.Outcome, Predicted: a.Verdict.Outcome,
		Measured: []ComparedJSON{}, Skipped: a.Skipped}
	switch {
	case a.Err != nil:
		j.Error = a.Err.Error()
	case a.Failed != nil:
		j.Error = a.failure()
	}
	if j.Skipped == nil {
		j.Skipped = []Skipped{}
	}
	for i := range a.Compared {
		j.Measured = append(j.Measured, a.Compared[i].asJSON())
	}
	return j
}

func (c *Compared) asJSON() ComparedJSON {
	m := c.Measured
	j := ComparedJSON{File: filepath.ToSlash(m.File), Where: m.Where, Device: m.Device.Name, Torch: m.Torch,
		Rows: []RowJSON{}, Findings: c.Findings}
	if cost, known := m.ContextCost(); known {
		j.Context = &cost
	}
	for _, r := range c.Rows {
		j.Rows = append(j.Rows, RowJSON{Row: r, Difference: r.Difference(), Under: r.Under()})
	}
	if c.Aligned {
		j.Events = &EventsJSON{Agree: c.Parts == nil}
		if d := c.Parts; d != nil {
			j.Events.Compared, j.Events.Why, j.Events.Predicted, j.Events.Measured = d.Compared, d.Why, d.AText, d.BText
		}
	}
	return j
}
