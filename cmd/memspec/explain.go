package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/internal/cli"
)

func newExplain() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "explain ARTIFACT… | --case NAME [memspec.yaml]",
		Short: "Show who holds the peak",
		Long: `Show who holds the allocated peak of an artifact, or of a case of a memspec.yaml: by module,
operator, source line or category, or, in a recorded training step, by the operator that autograd
saved it for. Without --by rows are modules, or lines where no module is known.

flat is what a row holds itself. cum, for modules, is what it holds with the modules beneath it.
sum% adds up the rows so far. By line the table is that of python -m memshim trace for a real
run: what each line holds, the sum so far, the median block and how many there are. "untraced"
is what was allocated before the first pass. --plot draws the run's memory, which is the default
on a terminal. On an HTML page the runs of several artifacts, such as the ranks of a program, stand
side by side on one scale.`,
		Example: `  memspec explain --case 'resnet50[B=32]' memspec.yaml
  memspec explain model.pt --input 'float32[8,3,224,224]' --device a10g --by op
  memspec explain train.rank0.rec train.rank4.rec --name 'rank 0' --name 'rank 4' -o ranks.html`,
		Args: cli.WantArgs(0, mostArtifacts, "an ARTIFACT or more, or --case and at most one memspec.yaml"),
	}
	f := cli.NewRunFlags(cmd)
	patterns := cli.CaseFlag(cmd)
	by := cli.ChoiceFlag(cmd, "by", "what a row is", "module", "op", "module", "line", "category", "saver")
	out := cli.NewOutputs(cmd, format.Timelines)
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "every row, not only the largest")
	plot := cmd.Flags().Bool("plot", false,
		"draw the memory over the run, with budgets and the device as lines (default: where the output is a terminal)")
	names := cmd.Flags().StringArray("name", nil,
		"the `NAME` of an artifact in the output, in place of its path; repeats, one for each ARTIFACT")
	rank := cmd.Flags().Int("rank", 0, "of a case with ranks:, this `RANK` in the place of the one that takes the most")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cases, err := explainCases(cmd, f, *patterns, args, *names)
		if err != nil {
			return err
		}
		beside := len(*patterns) == 0 && len(cases) > 1
		if cases, err = ofRank(cmd, cases, *rank); err != nil {
			return err
		}
		if err := out.Open(len(cases)); err != nil {
			return err
		}
		defer out.Abandon()
		if !cmd.Flags().Changed("plot") {
			*plot = cli.Terminal(cmd.OutOrStdout())
		}
		code, result := cli.ExitOK, explainJSON{Schema: 1, Cases: []explainedJSON{}}
		models := suite.New(os.Environ())
		for i, c := range cases {
			r := models.Judge(cmd.Context(), c)
			if r.Err != nil {
				return r.Err
			}
			r.Report = cli.RepositoryPaths().Report(r.Report)
			r.Report.Normalize()
			if len(*names) > 0 {
				r.Report.Artifact = c.Name
			}
			e := explained{Result: r, by: report.By(by.Value), rows: cli.RowsShown(verbose), first: i == 0}
			if _, holders := r.Report.Decisive(); !cmd.Flags().Changed("by") {
				e.by = report.DefaultBy(holders)
			}
			if e.by == report.ByLine && r.Report.Serving == nil {
				e.lines = heldByLine(r.Run.Timeline)
			}
			k := e.asCase(*plot)
			k.Beside = beside
			if err := out.Add(k); err != nil {
				return err
			}
			result.Cases = append(result.Cases, e.asJSON())
			code = max(code, cli.EstimateExit(r.Report))
		}
		if err := out.End(&format.Summary{Exit: code, JSON: result}); err != nil {
			return err
		}
		return cli.ExitWith(code)
	}
	return cmd
}

// ofRank is cases for one of their ranks, where --rank names one.
func ofRank(cmd *cobra.Command, cases []spec.Case, rank int) ([]spec.Case, error) {
	if !cmd.Flags().Changed("rank") {
		return cases, nil
	}
	out := make([]spec.Case, len(cases))
	for i := range cases {
		if !cases[i].EveryRank() {
			return nil, fmt.Errorf("--rank: got %s without ranks:, want a case that has them", cases[i].Name)
		}
		out[i] = cases[i].OfRank(rank)
	}
	return out, nil
}

// mostArtifacts is how many artifacts one call explains at most.
const mostArtifacts = 4096

// explainCases are the cases of patterns in a memspec.yaml, else one for each artifact, with its
// name of names.
func explainCases(cmd *cobra.Command, f *cli.RunFlags, patterns, args, names []string) ([]spec.Case, error) {
	if len(patterns) > 0 {
		if len(args) > 1 {
			return nil, fmt.Errorf("explain: got %d arguments beside --case, want at most one memspec.yaml", len(args))
		}
		if len(names) > 0 {
			return nil, errors.New("got --name beside --case, want one of them: a case has a name")
		}
		if name := f.Given(cmd, "device"); name != "" {
			return nil, fmt.Errorf("got --%s beside --case, want one of them: a case says how it runs", name)
		}
		cases, err := cli.CasesOf(args, patterns)
		if err != nil {
			return nil, err
		}
		if cases, err = cli.OnDevice(cases, f.Device); err != nil {
			return nil, err
		}
		return cases, cli.UseProfile(cases, *f.Workspace)
	}
	if len(args) == 0 {
		return nil, errors.New("explain: got neither an ARTIFACT nor --case, want one, see `memspec explain --help`")
	}
	if len(names) > 0 && len(names) != len(args) {
		return nil, fmt.Errorf("--name: got %d for %d artifacts, want one for each", len(names), len(args))
	}
	var cases []spec.Case
	for i, artifact := range args {
		c, err := f.OneCase(artifact)
		if err != nil {
			return nil, err
		}
		if len(names) > 0 {
			c.Name = names[i]
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// explained is a result with what its holders are gathered by.
type explained struct {
	*suite.Result
	by    report.By
	rows  int         // at most; 0 means all
	lines []*heldLine // by line
	first bool        // of those that are explained
}

// asCase is the result for every format. Nothing is judged: a case's budgets are reported, and
// lines in the pictures.
func (r *explained) asCase(plot bool) *format.Case {
	c := cli.RunCase(r.Run)
	judged := format.Judged(r.Case.Name, r.Case.Pos, r.Report, r.Verdict)
	c.Name, c.Pos, c.Report, c.Figures = judged.Name, judged.Pos, judged.Report, judged.Figures
	c.Line = r.head()
	c.Account = r.write
	c.Text = func(w io.Writer) error {
		if !r.first {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := r.write(w); err != nil || !plot {
			return err
		}
		return format.Plot(w, c)
	}
	return c
}

func (r *explained) head() string {
	head := fmt.Sprintf("%s %s: %s", r.Case.Name, r.Report.On(), report.Headline(r.Report))
	if len(r.Verdict.Findings) > 0 {
		head += " (" + r.Verdict.Outcome.String() + ")"
	}
	return head
}

func (r *explained) write(w io.Writer) error {
	rep := r.Report
	p := layout.To(w)
	p.Line("%s", r.head())
	for i := range r.Verdict.Findings {
		if f := &r.Verdict.Findings[i]; f.Outcome != verdict.Pass {
			p.Item(f.Outcome.String(), "%s", suite.FindingText(f))
		}
	}
	if rep.PeakAt != nil {
		p.Item("peak at", "%s", rep.PeakAt.String())
	}
	if rep.ReservedAt != nil {
		p.Item("reserved", "grew last at %s; %s of it (%s) stays cached but free", rep.ReservedAt.String(), rep.Cached,
			report.Percent(rep.Cached, rep.Peak.Reserved))
	}
	if rep.Serving != nil {
		if err := report.WriteAccount(w, rep, r.rows); err != nil {
			return err
		}
		return report.WriteAssumed(w, rep)
	}
	when, holders := rep.Decisive()
	if rep.OOM == nil {
		when = "at the allocated peak"
	}
	p.Line("  held %s, by %s:", when, r.by)
	if p.Err != nil {
		return p.Err
	}
	var err error
	if r.by == report.ByLine {
		err = writeLines(w, r.lines, r.rows)
	} else {
		err = report.WriteRows(w, r.by, report.Gather(holders, r.by), r.rows)
	}
	if err != nil {
		return err
	}
	return report.WriteAssumed(w, rep)
}

// explainJSON is what explain writes with --format json: every row, whatever the text shows.
type explainJSON struct {
	Schema int             `json:"schema"`
	Cases  []explainedJSON `json:"cases"`
}

type explainedJSON struct {
	Name      string              `json:"name"`
	Artifact  string              `json:"artifact"`
	Device    string              `json:"device"`
	Runtime   string              `json:"runtime"`
	Quality   report.Quality      `json:"quality"`
	Allocated units.Bytes         `json:"allocated"` // the peak whose holders the rows are
	Reserved  units.Bytes         `json:"reserved"`
	PeakAt    *report.Moment      `json:"peak_at"`       // null where nothing was allocated
	OOM       *report.OutOfMemory `json:"oom,omitempty"` // the run does not fit: the rows are what was held then
	By        report.By           `json:"by"`
	Rows      []rowJSON           `json:"rows"` // the largest first
}

type rowJSON struct {
	Where string      `json:"where"`
	What  string      `json:"what"`
	Flat  units.Bytes `json:"flat"`
	Cum   units.Bytes `json:"cum"`
	Count int         `json:"count"`
}

func (r *explained) asJSON() explainedJSON {
	rep := r.Report
	j := explainedJSON{Name: r.Case.Name, Artifact: rep.Artifact, Device: rep.Device, Runtime: rep.Runtime,
		Quality: rep.Quality, Allocated: rep.Peak.Allocated, Reserved: rep.Peak.Reserved, PeakAt: rep.PeakAt, By: r.by,
		Rows: []rowJSON{}}
	if rep.OOM != nil {
		oom := *rep.OOM
		oom.Holders = nil
		j.OOM = &oom
	}
	if r.by == report.ByLine {
		for _, l := range r.lines {
			j.Rows = append(j.Rows, rowJSON{Where: l.location, What: strings.Join(l.ops, ", "), Flat: l.mem, Cum: l.mem,
				Count: len(l.blocks)})
		}
		return j
	}
	_, holders := rep.Decisive()
	for _, row := range report.Gather(holders, r.by) {
		j.Rows = append(j.Rows, rowJSON{Where: row.Where, What: row.What, Flat: row.Flat, Cum: row.Cum,
			Count: row.Count})
	}
	return j
}
