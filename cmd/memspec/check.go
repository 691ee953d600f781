package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/internal/cli"
)

func newCheck() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "check [memspec.yaml | FOLDER | PATTERN]...",
		Short: "Check every budget of a memspec.yaml",
		Long: `Predict every case of a memspec.yaml and judge its budgets. Without an argument the file is that
of the working directory, or of the nearest folder above it in the repository. Arguments may be
files, folders with all beneath them, and patterns. All cases always run.

Exit codes, the first that applies: 2 if the file cannot be read; 1 if any case fails; 2 if any is
an error; 3 if any is inconclusive; else 0.`,
		Example: `  memspec check
  memspec check --case 'resnet50[*]' models/memspec.yaml
  memspec check -o junit.xml -o report.html
  memspec check --format json > result.json`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cli.CompleteSpecs,
	}
	patterns := cli.CaseFlag(cmd)
	profile := cli.WorkspaceFlag(cmd)
	basis := cli.JudgeFlag(cmd)
	q := cli.NewQuery(cmd)
	out := cli.NewOutputs(cmd, format.Verdicts|format.Timelines)
	against := cmd.Flags().String("against", "", "compare with another `COMMIT` of the repository, read from git: its "+
		"artifacts and recordings, by its memspec.yaml")
	part := cli.ShardFlag(cmd)
	since := cmd.Flags().String("changed-since", "",
		"only cases that something changed for since a `COMMIT`: artifact, profile, source or lines of memspec.yaml")
	on, lines := cli.DeviceFlag(cmd), cli.SetFlag(cmd)
	baseline := cmd.Flags().String("baseline", "",
		"compare with this `FILE` in place of the memspec.baseline.json beside each memspec.yaml")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "the whole report of every case, every holder")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cli.WantValues(cmd, "against", "baseline", "shard", "changed-since"); err != nil {
			return err
		}
		if *on != "" && *against != "" {
			return errors.New("got --against beside --device, want one of them: the commit has its cases on their own devices")
		}
		files, err := cli.SpecFiles(args)
		if err != nil {
			return err
		}
		cases, wrong, err := cli.LoadReadable(files, *patterns)
		if len(wrong) == len(files) || err != nil { // nothing can be judged
			_, err = cli.LoadCases(files, *patterns)
			return err
		}
		if cases, err = cli.Shard(cases, *part); err != nil {
			return err
		}
		if *since != "" {
			if cases, err = cli.ChangedSince(cmd.Context(), cases, *since); err != nil {
				return err
			}
		}
		if cases, err = cli.OnDevice(cases, *on); err != nil {
			return err
		}
		if cases, err = cli.WithLines(cases, *lines); err != nil {
			return err
		}
		if err := cli.UseProfile(cases, *profile); err != nil {
			return err
		}
		cli.JudgeBy(cases, basis)
		all := &checked{out: out, verbose: verbose, query: q}
		if err := all.compareWith(cmd, compared{files: cli.Readable(files, wrong), cases: cases, against: *against,
			baseline: *baseline}); err != nil {
			return err
		}
		if err := out.Open(len(cases) + len(wrong)); err != nil {
			return err
		}
		defer out.Abandon()
		all.json = out.Has("json")
		all.wrong = wrong
		code, err := runCheck(cmd, cases, all)
		if err != nil {
			return err
		}
		return cli.ExitWith(code)
	}
	return cmd
}

// compared is what a check compares with.
type compared struct {
	files             []string
	cases             []spec.Case
	against, baseline string
}

// compareWith readies what cases are compared with: another commit, or a file in place of those
// beside memspec.yaml.
func (c *checked) compareWith(cmd *cobra.Command, with compared) error {
	switch {
	case with.against != "" && with.baseline != "":
		return errors.New("got --against beside --baseline, want one of them")
	case with.baseline != "":
		if _, err := suite.ReadBaseline(with.baseline); err != nil {
			return err
		}
		for i := range with.cases {
			with.cases[i].Baseline = with.baseline
		}
	case with.against != "":
		at, err := cli.OpenCommit(cmd.Context(), "--against", with.against)
		if err != nil {
			return err
		}
		if c.before, err = at.Estimates(cmd.Context(), with.files); err != nil {
			return err
		}
		c.regressions = map[string][]spec.Regression{}
		for i := range with.cases {
			k := &with.cases[i]
			c.regressions[cli.CaseKey(k.Pos.File, k.Name)] = k.Regression
			k.Baseline, k.Regression = "", nil // compared by hand once they have run
		}
	}
	return nil
}

// mostRemedied is for how many failing cases a check looks for what would make them fit: it runs
// each some dozen times more.
const mostRemedied = 20

func runCheck(cmd *cobra.Command, cases []spec.Case, all *checked) (int, error) {
	bar := cli.NewProgress(cmd.ErrOrStderr(), len(cases))
	var outcomes []verdict.Outcome
	remedied := 0
	models, err := all.query.Models()
	if err != nil {
		return 0, err
	}
	var held []*suite.Result // with --missing nothing is written before all have run
	models.JudgeAll(cmd.Context(), cases, bar.Step, func(r *suite.Result) {
		if cmd.Context().Err() != nil {
			return
		}
		if all.before != nil && r.Err == nil {
			key := cli.CaseKey(r.Case.Pos.File, r.Case.Name)
			r.Case.Regression = all.regressions[key]
			all.before.Compare(key, r)
		}
		outcomes = append(outcomes, r.Verdict.Outcome)
		if r.Verdict.Outcome == verdict.Fail && remedied < mostRemedied {
			remedied++
			r.Remedies = models.Remedies(cmd.Context(), r)
		}
		bar.Clear()
		switch {
		case all.query.Missing != "":
			held = append(held, r)
		case err == nil:
			err = all.add(r)
		}
	})
	bar.Clear()
	if cmd.Context().Err() != nil {
		return 0, cli.Interrupted(len(outcomes), len(cases))
	}
	if err != nil {
		return 0, err
	}
	if err := all.query.Unanswered(); err != nil {
		return 0, err
	}
	for _, r := range held {
		if err := all.add(r); err != nil {
			return 0, err
		}
	}
	for _, w := range all.wrong { // the others are judged all the same
		outcomes = append(outcomes, verdict.Error)
		c := spec.Case{Name: w.File, Pos: spec.Pos{File: w.File}}
		if err := all.add(&suite.Result{Case: c, Err: errors.New(strings.Join(cli.ErrorLines(w.Err), "; ")),
			Verdict: verdict.Verdict{Outcome: verdict.Error}}); err != nil {
			return 0, err
		}
	}
	code := verdict.ExitCode(outcomes)
	if err := all.end(code); err != nil {
		return 0, err
	}
	if out := cmd.OutOrStdout(); cli.Terminal(out) && !all.out.Quiet && all.out.Name.Value == "text" {
		return code, cli.WriteLine(out, all.closing(bar.Elapsed()))
	}
	return code, nil
}

// closing shows a person at a terminal how long it took, and which budget that holds has the least
// room: "0.4 s, least room: net[B=8], reserved 224.0 MiB of 400.0 MiB (56.0%)".
func (c *checked) closing(took time.Duration) string {
	s := fmt.Sprintf("%.1f s", took.Seconds())
	if f := c.tightest; f != nil {
		share, _ := f.Share()
		s += fmt.Sprintf(", least room: %s, %s (%.1f%%)", c.tightestCase, f.Figures(), 100*share)
	}
	return s
}

// notice remembers the budget that holds with the least room, as a share of it.
func (c *checked) notice(r *suite.Result) {
	for i := range r.Verdict.Findings {
		f := &r.Verdict.Findings[i]
		share, ok := f.Share()
		if f.Outcome != verdict.Pass || !ok {
			continue
		}
		if share > c.tightestShare || c.tightest == nil {
			c.tightestShare = share
			c.tightest, c.tightestCase = f, r.Case.Name
		}
	}
}

// checked are the results of a check: a line a case that passes, the whole account of any other,
// and a summary.
type checked struct {
	out         *cli.Outputs
	query       *cli.Query
	verbose     bool
	wrong       []cli.Unreadable             // files of cases
	json        bool                         // it is asked for
	before      *cli.Estimates               // of another commit; nil where none was asked for
	regressions map[string][]spec.Regression // what cases may take more than there
	cases       []caseJSON
	legend      []string // explains what passes rest on
	count       [verdict.Error + 1]int
	total       int

	tightest      *verdict.Finding // that holds; nil where none does
	tightestShare float64          // of its budget
	tightestCase  string
}

func (c *checked) add(r *suite.Result) error {
	c.count[r.Verdict.Outcome]++
	c.total++
	c.notice(r)
	c.explain(r)
	if r.Report != nil {
		r.Report = cli.RepositoryPaths().Report(r.Report)
	}
	if c.json {
		c.cases = append(c.cases, asJSON(r))
	}
	return c.out.Add(cli.ResultCase(r, c.out, c.verbose))
}

// explain remembers what the short lines of cases that pass name: each ground is explained once, at
// the end.
func (c *checked) explain(r *suite.Result) {
	if c.verbose || c.out.Quiet || r.Err != nil || r.Verdict.Outcome != verdict.Pass {
		return
	}
	for _, g := range r.Verdict.Grounds {
		line := ""
		switch g.Kind {
		case verdict.GroundNote, verdict.GroundAllow:
			k, _ := note.Of(g.ID)
			line = string(g.ID) + ": " + k.Meaning
			if g.Settle != "" {
				line += "; to make it exact: " + g.Settle
			}
		case verdict.GroundOrigin:
			line = "origin unknown: " + g.Text
		}
		if line != "" && !slices.Contains(c.legend, line) {
			c.legend = append(c.legend, line)
		}
	}
}

// mostExplained is how many lines explain what passes rest on.
const mostExplained = 12

func (c *checked) writeLegend(w io.Writer) error {
	p := layout.To(w)
	if len(c.legend) > 0 {
		p.Line("what passes rest on:")
	}
	for i, line := range c.legend {
		if i == mostExplained {
			p.Line("  … %d more (-v)", len(c.legend)-i)
			break
		}
		p.Line("  %s", line)
	}
	return p.Err
}

func (c *checked) end(code int) error {
	sum := &format.Summary{Exit: code, Text: func(w io.Writer) error {
		if c.total == 0 {
			return cli.WriteLine(w, "0 cases: nothing to check")
		}
		if err := c.writeLegend(w); err != nil {
			return err
		}
		return cli.WriteLine(w, fmt.Sprintf("%s: %s", cli.Plural(c.total, "case"), cli.CountsText(&c.count)))
	}}
	if c.json {
		if c.cases == nil {
			c.cases = []caseJSON{}
		}
		sum.JSON = checkJSON{Schema: 1, Exit: code, Cases: c.cases}
	}
	return c.out.End(sum)
}

type checkJSON struct {
	Schema int        `json:"schema"`
	Exit   int        `json:"exit"`
	Cases  []caseJSON `json:"cases"`
}

type caseJSON struct {
	Name     string          `json:"name"`
	Spec     string          `json:"spec"`
	Outcome  verdict.Outcome `json:"outcome"`
	Error    string          `json:"error"`
	Findings []findingJSON   `json:"findings"`
	Change   string          `json:"change,omitempty"` // against what the case took before, in words
	RestsOn  *restsJSON      `json:"rests_on,omitempty"`
	Report   *report.Report  `json:"report"`
}

// restsJSON is what an outcome rests on beside the figures: in a line, and each ground.
type restsJSON struct {
	Text    string           `json:"text"`
	Grounds []verdict.Ground `json:"grounds"`
}

type findingJSON struct {
	Metric    report.Metric   `json:"metric"`
	Limit     units.Bytes     `json:"limit"`
	Predicted *units.Bytes    `json:"predicted"`
	Measured  *units.Bytes    `json:"measured"`
	Over      units.Bytes     `json:"over"`
	Spec      string          `json:"spec"`
	Outcome   verdict.Outcome `json:"outcome"`
	Why       string          `json:"why,omitempty"`
	// the upper figure, where it breaks what the likely one keeps
	Upper *units.Bytes `json:"upper,omitempty"`
	// the limit is what the figure was before, with what it may take more
	Regression bool `json:"regression,omitempty"`
}

func asJSON(r *suite.Result) caseJSON {
	j := caseJSON{Name: r.Case.Name, Spec: cli.LineOf(r.Case.Pos), Outcome: r.Verdict.Outcome,
		Findings: []findingJSON{}, Change: r.Change, Report: r.Report}
	if text := r.RestsOn(); text != "" {
		j.RestsOn = &restsJSON{text, r.Verdict.Grounds}
	}
	if r.Err != nil {
		j.Error = r.Err.Error()
	}
	if r.Report != nil {
		r.Report.Normalize()
	}
	for _, f := range r.Verdict.Findings {
		fj := findingJSON{Metric: f.Metric, Limit: f.Limit, Over: f.Over, Spec: cli.LineOf(f.Pos), Outcome: f.Outcome,
			Why: f.Why, Regression: f.Regression}
		if f.Upper > 0 {
			fj.Upper = &f.Upper
		}
		if f.Known {
			fj.Predicted = &f.Predicted
		}
		j.Findings = append(j.Findings, fj)
	}
	return j
}
