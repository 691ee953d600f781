package format

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/verdict"
)

// github writes the log of a GitHub workflow's step: the text, in which the runner is asked to look
// for no commands (every operator's name holds two colons), then an annotation for each case that
// is not right, on the line of its budget. GitHub shows ten errors and ten warnings of a step: the
// worst come first, and the step's summary (markdown) has them all.
type github struct {
	w     io.Writer
	o     Options
	text  strings.Builder
	cases []annotation
	rests restingCases
}

func newGitHub(w io.Writer, o Options) Writer { return &github{w: w, o: o} }

type annotation struct {
	severity int
	excess   float64 // how far over its budget the worst figure is, as a share of it
	text     string
}

func (g *github) Case(c *Case) error {
	if err := (text{&g.text}).Case(c); err != nil {
		return err
	}
	g.rests.add(c)
	if c.Outcome == verdict.Pass || !c.Judged {
		return nil
	}
	excess := 0.0
	for _, f := range c.figures() {
		if f.Limit != nil && *f.Limit > 0 {
			excess = max(excess, float64(f.over())/float64(*f.Limit))
		}
	}
	g.cases = append(g.cases, annotation{severity: severity(c.Outcome), text: g.annotate(c), excess: excess})
	return nil
}

// annotate is one workflow command.
func (g *github) annotate(c *Case) string {
	level := "error"
	if c.Outcome == verdict.Warn {
		level = "warning"
	}
	pos := c.Pos
	lines := []string{}
	for _, f := range c.Findings {
		if f.Pos.Line > 0 && len(lines) == 0 {
			pos = f.Pos
		}
		lines = append(lines, oneLine(f.Text))
	}
	if len(lines) == 0 {
		lines = append(lines, oneLine(c.Line))
	}
	if c.Report != nil && c.Report.PeakAt != nil && c.Report.OOM == nil {
		lines = append(lines, "peak at "+oneLine(c.Report.PeakAt.String()))
	}
	properties := []string{}
	if pos.File != "" {
		properties = append(properties, "file="+commandProperty(oneLine(g.o.Paths.Named(pos.File))))
		if pos.Line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", pos.Line))
		}
	}
	properties = append(properties, "title="+commandProperty(c.title()+": "+c.Outcome.String()))
	return fmt.Sprintf("::%s %s::%s\n", level, strings.Join(properties, ","), commandData(strings.Join(lines, "\n")))
}

func (g *github) End(s *Summary) error {
	if err := (text{&g.text}).End(s); err != nil {
		return err
	}
	shown := plain(g.text.String())
	// The runner resumes at a word that the text cannot hold: its own hash.
	token := fmt.Sprintf("memspec-%x", sha256.Sum256([]byte(shown)))[:40]
	var b strings.Builder
	fmt.Fprintf(&b, "::stop-commands::%s\n%s::%s::\n", token, shown, token)
	slices.SortStableFunc(g.cases, func(x, y annotation) int {
		return cmp.Or(cmp.Compare(y.severity, x.severity), cmp.Compare(y.excess, x.excess))
	})
	for _, a := range g.cases {
		b.WriteString(a.text)
	}
	for _, group := range g.rests.groups {
		fmt.Fprintf(&b, "::notice title=%s::%s\n", commandProperty("memspec: what passes rest on"), commandData(group.text()))
	}
	_, err := io.WriteString(g.w, b.String())
	return err
}

// What the runner's commands have for characters that mean something to it.
var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func commandData(s string) string     { return dataEscapes.Replace(s) }
func commandProperty(s string) string { return propertyEscapes.Replace(s) }
