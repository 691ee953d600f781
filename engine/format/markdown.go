package format

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// MostMarkdown is how many bytes a markdown document has at most where nothing else is asked for: a
// comment on GitHub may have 65,536 characters, and what posts it adds its own.
const MostMarkdown = 65000

// markdown writes a comment for a pull request: how many cases came to what, a table of what is not
// right and of what was compared with nothing, the account of each failure folded, and the passing
// cases folded. The order is that of the cases. What does not fit the limit is left out from the
// end, passing cases first, and counted.
//
// Names stand in code spans: there neither markup, mentions nor references are read.
type markdown struct {
	w     io.Writer
	o     Options
	count counts
	cases []markdownCase
}

func newMarkdown(w io.Writer, o Options) Writer {
	if o.Most == 0 {
		o.Most = MostMarkdown
	}
	return &markdown{w: w, o: o}
}

type markdownCase struct {
	name    string
	judged  bool
	outcome verdict.Outcome
	line    string
	error   string
	figures []Figure
	rests   string // what it rests on beside the figures
	account string // of what is not right
}

func (m *markdown) Case(c *Case) error {
	if c.Judged {
		m.count[c.Outcome]++
	}
	k := markdownCase{name: c.title(), judged: c.Judged, outcome: c.Outcome, line: oneLine(c.Line),
		error: oneLine(c.Error), figures: slices.Clone(c.figures()),
		rests: c.RestsOn}
	if c.Judged && c.Outcome != verdict.Pass || !c.Judged {
		k.account = plain(c.account())
	}
	m.cases = append(m.cases, k)
	return nil
}

func (m *markdown) End(*Summary) error {
	var shown, passed []markdownCase
	for _, c := range m.cases {
		if c.judged && c.outcome == verdict.Pass {
			passed = append(passed, c)
		} else {
			shown = append(shown, c)
		}
	}
	d := &document{most: m.o.Most - 200} // what stands at the end of one that was cut
	d.add(strings.TrimSuffix("### memspec: "+outcomeCounts(&m.count), ": ") + "\n")
	rows := d.table(shown, "\n", "")
	accounts := 0
	for i := range shown {
		if accounts > 0 || !d.add(folded("account of "+shown[i].name, fenced(shown[i].account))) {
			accounts++
		}
	}
	rows += d.table(passed, fmt.Sprintf("\n<details><summary>%s</summary>\n\n",
		plural(len(passed), "case passes", "cases pass")), "\n</details>\n")
	if rows > 0 || accounts > 0 {
		fmt.Fprintf(&d.b, "\nNot shown, for this is as long as it may be: %s, %s.\n", plural(rows, "row", "rows"),
			plural(accounts, "account", "accounts"))
	}
	_, err := io.WriteString(m.w, d.b.String())
	return err
}

// A document takes parts up to a number of bytes.
type document struct {
	b    strings.Builder
	most int
}

// add takes a part whole or not at all, and says which.
func (d *document) add(part string) bool {
	if d.b.Len()+len(part) > d.most {
		return false
	}
	d.b.WriteString(part)
	return true
}

// table adds the cases between begin and end, as many as fit, and says how many did not.
func (d *document) table(cases []markdownCase, begin, end string) (left int) {
	if len(cases) == 0 {
		return 0
	}
	t := newMarkdownTable(cases)
	d.most -= len(end)
	defer func() { d.most += len(end) }()
	if !d.add(begin + t.head()) {
		return len(cases)
	}
	for i := range cases {
		if !d.add(t.rows(&cases[i])) {
			left = len(cases) - i
			break
		}
	}
	d.b.WriteString(end)
	return left
}

// outcomeCounts is "1 fail, 63 pass": the worst first.
func outcomeCounts(n *counts) string {
	var parts []string
	for _, o := range []verdict.Outcome{verdict.Fail, verdict.Error, verdict.Inconclusive, verdict.Warn, verdict.Pass} {
		if n[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[o], o))
		}
	}
	return strings.Join(parts, ", ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// markdownTable has the columns that any of its cases fills.
type markdownTable struct {
	judged, limit, before, measured, rests bool
}

func newMarkdownTable(cases []markdownCase) *markdownTable {
	t := &markdownTable{}
	for i := range cases {
		t.judged = t.judged || cases[i].judged
		t.rests = t.rests || cases[i].rests != ""
		for _, f := range cases[i].figures {
			t.limit = t.limit || f.Limit != nil
			t.before = t.before || f.Before != nil
			t.measured = t.measured || f.Measured != nil
		}
	}
	return t
}

func (t *markdownTable) head() string {
	names, rules := "| case | metric |", "|---|---|"
	column := func(on bool, name, rule string) {
		if on {
			names += " " + name + " |"
			rules += rule + "|"
		}
	}
	after := "predicted"
	if t.before {
		after = "after"
	}
	column(t.limit, "budget", "--:")
	column(t.before, "before", "--:")
	column(true, after, "--:")
	column(t.before, "change", "--:")
	column(t.measured, "measured", "--:")
	column(t.judged, "result", "---")
	column(t.rests, "rests on", "---")
	return names + "\n" + rules + "\n"
}

func (t *markdownTable) rows(c *markdownCase) string {
	var b strings.Builder
	name := codeSpan(c.name)
	figures := c.figures
	if c.error != "" || len(figures) == 0 {
		figures = []Figure{{Outcome: c.outcome}}
	}
	rests := codeSpan(c.rests)
	for _, f := range figures {
		fmt.Fprintf(&b, "| %s | %s |", name, word(f.Name()))
		name = ""
		cell := func(on bool, text string) {
			if on {
				b.WriteString(" " + text + " |")
			}
		}
		cell(t.limit, f.text(f.Limit))
		cell(t.before, f.text(f.Before))
		cell(true, f.text(f.Predicted))
		cell(t.before, f.changed())
		cell(t.measured, f.text(f.Measured))
		cell(t.judged, figureResult(c, &f))
		cell(t.rests, rests)
		rests = ""
		b.WriteString("\n")
	}
	return b.String()
}

func signedPercent(part, whole units.Bytes) string {
	s := report.Percent(part, whole)
	if part > 0 {
		s = "+" + s
	}
	return s
}

func figureResult(c *markdownCase, f *Figure) string {
	switch {
	case !c.judged:
		return ""
	case c.error != "":
		return "**" + c.outcome.String() + "**: " + codeSpan(c.error)
	case f.Outcome == verdict.Pass && f.value() != nil && f.Limit != nil && f.Metric.Counts():
		return fmt.Sprintf("pass: %s of the least", report.Percent(*f.value(), *f.Limit))
	case f.Outcome == verdict.Pass && f.value() != nil && f.Limit != nil:
		return fmt.Sprintf("pass: %s of the budget", report.Percent(*f.value(), *f.Limit))
	case f.Outcome == verdict.Pass:
		return "pass"
	case f.over() > 0 && f.Metric.Counts():
		return fmt.Sprintf("**%s**: short by %s (-%s)", f.Outcome, f.Metric.Text(f.over()),
			report.Percent(f.over(), *f.Limit))
	case f.over() > 0 && f.Limit != nil && *f.Limit > 0:
		return fmt.Sprintf("**%s**: over by %s (%s)", f.Outcome, f.over(), signedPercent(f.over(), *f.Limit))
	}
	return "**" + f.Outcome.String() + "**"
}

// codeSpan is a text in backticks, more of them than it has in a row. A table's cell ends at a bar
// even in a code span.
func codeSpan(s string) string {
	s = oneLine(s)
	if s == "" {
		return ""
	}
	ticks := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.Trim(s, " ") != s {
		s = " " + s + " "
	}
	return ticks + strings.ReplaceAll(s, "|", `\|`) + ticks
}

// word is a metric's name: as it is where it is one of memspec's, a code span where a record made
// it up.
func word(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyz ") == "" {
		return s
	}
	return codeSpan(s)
}

// fenced is a text in a code block whose fence it does not hold.
func fenced(s string) string {
	fence := strings.Repeat("`", max(3, longestRun(s, '`')+1))
	return fence + "text\n" + strings.TrimRight(s, "\n") + "\n" + fence + "\n"
}

// folded is a part that opens on a click. Its title is HTML: code, so that nobody is mentioned.
func folded(title, body string) string {
	return "\n<details><summary><code>" + html.EscapeString(oneLine(title)) + "</code></summary>\n\n" + body +
		"\n</details>\n"
}

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
