package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/verdict"
)

// writeVerify writes what check says of each case, then its comparisons, then how many there were.
func writeVerify(w io.Writer, all []*verified, require bool) error {
	count := [verdict.Error + 1]int{}
	missing := 0
	for _, v := range all {
		count[v.outcome]++
		if len(v.compared) == 0 {
			missing++
		}
		if err := v.writeText(w, require); err != nil {
			return err
		}
	}
	var parts []string
	for _, o := range []verdict.Outcome{verdict.Pass, verdict.Warn, verdict.Fail, verdict.Error, verdict.Inconclusive} {
		if count[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[o], o))
		}
	}
	if missing > 0 {
		parts = append(parts, fmt.Sprintf("%d of them not measured", missing))
	}
	_, err := fmt.Fprintf(w, "%s: %s\n", plural(len(all), "case"), strings.Join(parts, ", "))
	return err
}

func (v *verified) writeText(w io.Writer, require bool) error {
	fmt.Fprintf(w, "%s %s\n", strings.ToUpper(v.outcome.String()), v.Case.Name)
	fmt.Fprintf(w, "  predicted  %s\n", v.Line())
	if len(v.compared) == 0 {
		why := ""
		if require {
			why = ": one is required"
		}
		fmt.Fprintf(w, "  no measurement%s\n", why)
	}
	for _, s := range v.skipped {
		fmt.Fprintf(w, "  left out   %s: %s\n", s.File, s.Why)
	}
	for i := range v.compared {
		if err := v.compared[i].writeText(w); err != nil {
			return err
		}
	}
	if v.Verdict.Outcome != verdict.Pass && v.Err == nil {
		fmt.Fprintf(w, "  account    %s\n", engine.ExplainCommand(v.Case))
	}
	return nil
}

func (c *compared) writeText(w io.Writer) error {
	fmt.Fprintf(w, "  measured   %s, torch %s (%s)\n", c.record.Device.Name, c.record.Torch, c.record.File)
	for _, f := range c.Findings {
		word := "broken"
		switch {
		case f.Unknown:
			word = "unsure"
		case f.Warn:
			word = "warning"
		}
		fmt.Fprintf(w, "  %-9s  %s\n", word, f.Text)
	}
	if err := c.WriteText(w); err != nil {
		return err
	}
	switch {
	case !c.align:
		_, err := fmt.Fprintln(w, "  events     not recorded")
		return err
	case c.parts == nil:
		_, err := fmt.Fprintln(w, "  events     both streams are the same")
		return err
	}
	_, err := fmt.Fprintf(w, "  events     the streams part after %d: %s: measured %s, predicted %s\n", c.parts.Compared, c.parts.Why,
		strings.TrimSpace(c.parts.BText), strings.TrimSpace(c.parts.AText))
	return err
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
