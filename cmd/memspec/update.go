package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/internal/cli"
)

func newUpdate() *cobra.Command {
	var tighten, dry bool
	var headroom string
	cmd := &cobra.Command{
		Use:   "update [memspec.yaml]",
		Short: "Raise broken budgets in memspec.yaml, after a change that was meant",
		Long: `Predict every case and rewrite the budgets that it breaks, in place: the prediction with some
headroom, rounded up to whole MiB. Everything else stays as it is written, comments included.
Where several cases share a budget, the largest counts. Percentages and expressions are left
and listed. The command refuses to run where CI is set: people raise budgets.

Exit codes: 1 if a broken budget was left; 2 if a case cannot be run; 3 if a case is undecided;
else 0.`,
		Example: `  memspec update
  memspec update --tighten --headroom 10%`,
		Args:              cli.WantArgs(0, 1, "at most one memspec.yaml"),
		ValidArgsFunction: cli.CompleteSpecs,
	}
	patterns := cli.CaseFlag(cmd)
	cmd.Flags().BoolVar(&tighten, "tighten", false, "lower the budgets that have more headroom, too")
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "print what would change, and write nothing")
	cmd.Flags().StringVar(&headroom, "headroom", "5%",
		"how much a budget is above the prediction, a `SHARE` such as 10%")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		share, err := cli.ParseShare(headroom)
		if err != nil {
			return fmt.Errorf("--headroom: %w", err)
		}
		if os.Getenv("CI") != "" && !dry {
			return errors.New("got CI in the environment, want a person: budgets are not raised by the check that they broke " +
				"(-n prints what would change)")
		}
		file, err := cli.SpecFile(args)
		if err != nil {
			return err
		}
		cases, err := cli.LoadCases([]string{file}, *patterns)
		if err != nil {
			return err
		}
		u := &update{tighten: tighten, headroom: share}
		if u.of, err = sharers(file); err != nil {
			return err
		}
		models := suite.New(os.Environ())
		done := 0
		models.JudgeAll(cmd.Context(), cases, nil, func(r *suite.Result) {
			if cmd.Context().Err() == nil {
				done++
				u.add(r)
			}
		})
		if cmd.Context().Err() != nil {
			return cli.Interrupted(done, len(cases))
		}
		return u.end(cmd, file, dry)
	}
	return cmd
}

// sharers returns how many cases of a file each budget is for.
func sharers(file string) (map[verdict.Pos]int, error) {
	cases, err := cli.LoadCases([]string{file}, nil)
	of := map[verdict.Pos]int{}
	for i := range cases {
		for _, b := range cases[i].Budgets {
			of[b.Pos]++
		}
	}
	return of, err
}

// update gathers what budgets become.
type update struct {
	tighten  bool
	of       map[verdict.Pos]int // cases that a budget is for
	headroom float64
	budgets  []*updated        // by place
	left     []string          // what is not rewritten, and why
	outcomes []verdict.Outcome // of what is left
}

// updated is a budget as it is written once, for one case or several.
type updated struct {
	verdict.Budget
	needs units.Bytes // with headroom
	most  units.Bytes // without
	fixed bool        // a plain size
	cases int         // whose figures are in needs and most
}

func (u *update) add(r *suite.Result) {
	switch {
	case r.Err != nil:
		u.leave(r.Verdict.Outcome, r.Case.Name+": "+cli.OneLine(r.Err.Error()))
		return
	case !r.Report.Fits():
		u.leave(verdict.Fail, r.Case.Name+": does not fit "+r.Report.Device+", which no budget changes")
		return
	case r.Report.Quality == report.Incomplete:
		u.leave(verdict.Inconclusive, r.Case.Name+": "+report.Lacking(r.Report.Coverage.Unsupported))
		return
	}
	for _, f := range r.Verdict.Findings {
		if f.Pos.Line == 0 || !f.Known || !slices.ContainsFunc(r.Case.Budgets,
			func(b verdict.Budget) bool { return b.Pos == f.Pos }) {
			continue
		}
		if f.Metric.Counts() { // a least number is a promise, not a measurement
			if f.Outcome != verdict.Pass {
				u.leave(f.Outcome, r.Case.Name+": "+f.String())
			}
			continue
		}
		i := slices.IndexFunc(u.budgets, func(b *updated) bool { return b.Pos == f.Pos })
		if i < 0 {
			i = len(u.budgets)
			_, err := units.Parse(f.Text)
			u.budgets = append(u.budgets, &updated{Budget: f.Budget, fixed: err == nil})
		}
		b := u.budgets[i]
		b.cases++
		decides := f.Predicted // by what the budget is judged: the upper figure of an estimate
		if up, ok := r.Report.UpperValue(f.Metric); ok && r.Case.Judge != verdict.ByLikely {
			decides = max(up, decides)
		}
		b.most = max(b.most, f.Predicted)
		b.needs = max(b.needs, decides.Add(units.Bytes(float64(decides)*u.headroom)).RoundUp(units.MiB))
		if f.Undecided() {
			u.leave(f.Outcome, fmt.Sprintf("%s = %s of %s: %s", b.Path, b.Text, r.Case.Name, f.Why))
			continue
		}
		if !b.fixed && f.Outcome != verdict.Pass {
			u.leave(f.Outcome, fmt.Sprintf("%s = %s, which %s breaks with %s", b.Path, b.Text, r.Case.Name,
				f.Predicted))
		}
	}
}

func (u *update) leave(o verdict.Outcome, why string) {
	u.left, u.outcomes = append(u.left, why), append(u.outcomes, o)
}

// changed are the budgets to rewrite, from the end of the file to its beginning, so that places
// stay right. A budget is lowered only where all of its cases were predicted.
func (u *update) changed() []*updated {
	var out []*updated
	for _, b := range u.budgets {
		lower := u.tighten && b.needs < b.Limit && b.cases == u.of[b.Pos]
		if b.fixed && b.needs != b.Limit && (b.most > b.Limit || lower) {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b *updated) int {
		return cmp.Or(cmp.Compare(b.Pos.Line, a.Pos.Line), cmp.Compare(b.Pos.Col, a.Pos.Col))
	})
	return out
}

func (u *update) end(cmd *cobra.Command, file string, dry bool) error {
	data, err := regular.Read(file, spec.MaxFile)
	if err != nil {
		return regular.Plain(err)
	}
	changed := u.changed()
	p := layout.To(cmd.OutOrStdout())
	for _, b := range slices.Backward(changed) {
		p.Line("%s: %s: %s → %s", cli.LineOf(b.Pos), b.Path, b.Text, b.needs.Compact())
	}
	for _, left := range u.left {
		p.Line("left: %s", left)
	}
	switch {
	case len(changed) == 0:
		p.Line("%s: nothing to change", file)
	case dry:
		p.Line("%s: %s not written (-n)", file, cli.Plural(len(changed), "change"))
	default:
		for _, b := range changed {
			if data, err = replaceAt(data, b); err != nil {
				return err
			}
		}
		if err := cli.WriteWhole(file, data); err != nil {
			return err
		}
		p.Line("%s: %s", file, cli.Plural(len(changed), "change"))
	}
	if p.Err != nil {
		return p.Err
	}
	return cli.ExitWith(verdict.ExitCode(u.outcomes))
}

// replaceAt writes a budget's new size in place of its old text. The text has to stand where the
// budget was read.
func replaceAt(data []byte, b *updated) ([]byte, error) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if b.Pos.Line > len(lines) {
		return nil, fmt.Errorf("%s: got a file that has changed meanwhile", b.Pos)
	}
	line := []rune(string(lines[b.Pos.Line-1]))
	rest := string(line[min(b.Pos.Col-1, len(line)):])
	quote := ""
	if strings.HasPrefix(rest, `"`) || strings.HasPrefix(rest, "'") {
		quote = rest[:1]
	}
	after, ok := strings.CutPrefix(rest, quote+b.Text+quote)
	if !ok {
		return nil, fmt.Errorf("%s: got another text than %q there: an alias or a text over lines is changed by hand",
			b.Pos, b.Text)
	}
	lines[b.Pos.Line-1] = []byte(string(line[:b.Pos.Col-1]) + quote + b.needs.Compact() + quote + after)
	return bytes.Join(lines, nil), nil
}
