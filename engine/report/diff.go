package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/units"
)

// Difference is one report against another.
type Difference struct {
	Schema  int            `json:"schema"`
	Old     Run            `json:"old"`
	New     Run            `json:"new"`
	Unlike  []string       `json:"unlike,omitempty"` // in what the runs differ beside the model
	Metrics []MetricChange `json:"metrics"`          // in the order of Metrics
	// of a run and the compiled model's: what changed, by change, what compiling adds first
	Kinds   []KindChange   `json:"kinds,omitempty"`
	Holders []HolderChange `json:"holders"` // what changed, by size of change, largest first, then by place
}

// MetricChange is a metric in both reports; nil where one does not know it.
type MetricChange struct {
	Metric Metric       `json:"metric"`
	Old    *units.Bytes `json:"old"`
	New    *units.Bytes `json:"new"`
}

// HolderChange is what one module's storages of one category and operator hold at the peak of each
// report. Source lines are left out: an edit above a line moves it without changing what it holds.
type HolderChange struct {
	Op       string      `json:"op"`
	Module   string      `json:"module"`
	Category string      `json:"category"`
	Old      units.Bytes `json:"old"`
	New      units.Bytes `json:"new"`
	OldCount int         `json:"old_count"`
	NewCount int         `json:"new_count"`
}

// Diff compares two reports by metric and by holder.
func Diff(before, after *Report) *Difference {
	d := &Difference{Schema: Schema, Old: before.Run, New: after.Run, Unlike: Unlike(&before.Run, &after.Run),
		Kinds: compiling(before, after), Holders: []HolderChange{}}
	metrics := BudgetMetrics()
	if before.Serving != nil || after.Serving != nil {
		metrics = ServingMetrics()
	}
	for _, m := range metrics {
		if m == FirstCall && before.FirstCall == nil && after.FirstCall == nil {
			continue // as the others report already
		}
		if m == HostPinned && before.HostPinned == nil && after.HostPinned == nil {
			continue
		}
		c := MetricChange{Metric: m}
		if v, ok := before.Value(m); ok {
			c.Old = &v
		}
		if v, ok := after.Value(m); ok {
			c.New = &v
		}
		d.Metrics = append(d.Metrics, c)
	}
	index := map[HolderChange]int{}
	at := func(h *Holder) *HolderChange {
		key := HolderChange{Op: h.Op, Module: h.Module, Category: h.Category}
		i, ok := index[key]
		if !ok {
			i = len(d.Holders)
			index[key] = i
			d.Holders = append(d.Holders, key)
		}
		return &d.Holders[i]
	}
	for i := range before.Holders {
		c := at(&before.Holders[i])
		c.Old += before.Holders[i].Flat
		c.OldCount += before.Holders[i].Count
	}
	for i := range after.Holders {
		c := at(&after.Holders[i])
		c.New += after.Holders[i].Flat
		c.NewCount += after.Holders[i].Count
	}
	d.Holders = slices.DeleteFunc(d.Holders, func(c HolderChange) bool {
		return c.Old == c.New && c.OldCount == c.NewCount
	})
	slices.SortFunc(d.Holders, func(a, b HolderChange) int {
		return cmp.Or(cmp.Compare(abs(b.New-b.Old), abs(a.New-a.Old)), cmp.Compare(a.Module, b.Module),
			cmp.Compare(a.Category, b.Category), cmp.Compare(a.Op, b.Op))
	})
	return d
}

// mostCauses is how many of the changes among holders a sentence names.
const mostCauses = 3

// Sentence reports the difference in a line: each metric that changed, and what made most of it;
// where only the place of the peak changed, that; "" where nothing did.
func (d *Difference) Sentence(was, is *Moment) string {
	var metrics []string
	for _, m := range d.Metrics {
		if m.Old == nil || m.New == nil || *m.Old == *m.New {
			continue
		}
		text := string(m.Metric) + " " + m.Metric.Signed(*m.New-*m.Old)
		if share := signedPercent(*m.New-*m.Old, *m.Old); share != "" {
			text += " (" + share + ")"
		}
		metrics = append(metrics, text)
	}
	moved := was != nil && is != nil && (was.Op != is.Op || was.Module != is.Module)
	if len(metrics) == 0 {
		if moved {
			return fmt.Sprintf("only the peak moved, from %s to %s", siteText(was), siteText(is))
		}
		return ""
	}
	text := strings.Join(metrics, ", ")
	if causes := d.causes(); len(causes) > 0 {
		text += ": " + strings.Join(causes, ", ")
	}
	if moved {
		text += fmt.Sprintf("; the peak moved from %s to %s", siteText(was), siteText(is))
	}
	return text
}

func siteText(m *Moment) string { return strings.TrimSpace(m.Op + " " + m.Module) }

// causes are the changes among holders, by module and category, the largest first.
func (d *Difference) causes() []string {
	type cause struct {
		module, category string
		by               units.Bytes
		was, is          int
		places           map[string]bool
	}
	var out []*cause
	for _, h := range d.Holders {
		top, _, _ := strings.Cut(h.Module, ".")
		i := slices.IndexFunc(out, func(c *cause) bool { return c.module == top && c.category == h.Category })
		if i < 0 {
			i = len(out)
			out = append(out, &cause{module: top, category: h.Category, places: map[string]bool{}})
		}
		c := out[i]
		c.by, c.was, c.is = c.by+h.New-h.Old, c.was+h.OldCount, c.is+h.NewCount
		c.places[h.Module] = true
	}
	slices.SortStableFunc(out, func(a, b *cause) int { return cmp.Compare(abs(b.by), abs(a.by)) })
	var texts []string
	for i, c := range out {
		if i == mostCauses {
			texts = append(texts, fmt.Sprintf("%d more", len(out)-i))
			break
		}
		name := c.module
		if name != "" && !(len(c.places) == 1 && c.places[name]) {
			name += ".*"
		}
		text := strings.TrimSpace(name + " " + plurals[c.category] + " " + Signed(c.by))
		switch more := c.is - c.was; {
		case more > 0:
			text += fmt.Sprintf(", %d more of them held", more)
		case more < 0:
			text += fmt.Sprintf(", %d fewer of them held", -more)
		}
		texts = append(texts, text)
	}
	return texts
}

func abs(b units.Bytes) units.Bytes { return max(b, -b) }

// Same says whether the two reports agree in every metric and every holder.
func (d *Difference) Same() bool {
	for _, m := range d.Metrics {
		if (m.Old == nil) != (m.New == nil) || m.Old != nil && *m.Old != *m.New {
			return false
		}
	}
	return len(d.Holders) == 0
}

// Head says what is compared.
func (d *Difference) Head() string {
	return d.Old.Head() + " → " + d.New.Head()
}

// WriteText writes the difference for people, with at most rows rows of holders; 0 means all.
func (d *Difference) WriteText(w io.Writer, rows int) error {
	p := layout.To(w)
	p.Line("%s", d.Head())
	for _, differs := range d.Unlike {
		p.Item("unlike", "%s", differs)
	}
	t := layout.NewTable("lrrrr")
	t.Add("", "old", "new", "change", "")
	for _, m := range d.Metrics {
		if m.Old == nil || m.New == nil {
			t.Add(string(m.Metric), m.textOrUnknown(m.Old), m.textOrUnknown(m.New), "", "")
			continue
		}
		t.Add(string(m.Metric), m.Metric.Text(*m.Old), m.Metric.Text(*m.New), m.Metric.Signed(*m.New-*m.Old),
			signedPercent(*m.New-*m.Old, *m.Old))
	}
	p.Table(2, t)
	if len(d.Kinds) > 0 {
		p.Line("  %s", d.compilingSentence())
		p.Table(4, d.compilingTable())
	}
	if len(d.Holders) == 0 && d.New.Mode == Serve {
		return p.Err // of an engine no holder is known
	}
	if len(d.Holders) == 0 {
		p.Line("  the same holders at the peak")
		return p.Err
	}
	p.Line("  held at the peak, what changed:")
	t = layout.NewTable("rrrlll")
	t.Add("change", "old", "new", "module", "op", "what")
	for i, h := range d.Holders {
		if rows > 0 && i == rows {
			break
		}
		t.Add(Signed(h.New-h.Old), h.Old.String(), h.New.String(), h.Module, h.Op,
			fmt.Sprintf("%s ×%d → ×%d", plurals[h.Category], h.OldCount, h.NewCount))
	}
	p.Table(4, t)
	if more := len(d.Holders) - rows; rows > 0 && more > 0 {
		p.Line("    … %d more (-v)", more)
	}
	return p.Err
}

func (c *MetricChange) textOrUnknown(v *units.Bytes) string {
	if v == nil {
		return "unknown"
	}
	return c.Metric.Text(*v)
}

// Signed is a difference of sizes with its sign: "+1.5 MiB", "-512 B", "0 B".
func Signed(b units.Bytes) string {
	switch {
	case b > 0:
		return "+" + b.String()
	case b < 0:
		return "-" + (-b).String()
	}
	return b.String()
}

func signedPercent(change, of units.Bytes) string {
	if of == 0 {
		return ""
	}
	s := Percent(change, of)
	if change > 0 {
		s = "+" + s
	}
	return s
}
