package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/verdict"
)

func newExplain() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "explain ARTIFACT | --case NAME [memspec.yaml]",
		Short: "Show who holds the peak",
		Long: `Show who holds the allocated peak of an artifact, or of a case of a memspec.yaml: by module, operator, source line or category.
flat is what a row holds itself; cum, for modules, what it holds with the modules beneath it; sum% adds up the rows so far. By line it is the
table that python -m memshim trace prints of a real run: what each line holds, the sum so far, the median block and how many there are, with
what was there before the first pass as "untraced".`,
		Example: `  memspec explain --case 'resnet50[B=32]' memspec.yaml
  memspec explain model.pt --input 'float32[8,3,224,224]' --device a10g --by op`,
		Args: wantArgs(0, 1, "one ARTIFACT, or --case and at most one memspec.yaml"),
	}
	f := newRunFlags(cmd)
	patterns := caseFlag(cmd)
	by := choiceFlag(cmd, "by", "what a row is", "module", "op", "module", "line", "category")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "every row, not only the largest")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cases, err := explainCases(cmd, f, *patterns, args)
		if err != nil {
			return err
		}
		code := exitOK
		var models engine.Models
		for i, c := range cases {
			if i > 0 {
				fmt.Fprintln(cmd.OutOrStdout())
			}
			r := models.Judge(cmd.Context(), c)
			if r.Err != nil {
				return r.Err
			}
			e := explained{Result: r, by: report.By(by.value), rows: rowsShown(verbose)}
			if e.by == report.ByLine {
				e.lines = heldByLine(r.Run.Timeline)
			}
			if err := e.write(cmd.OutOrStdout()); err != nil {
				return err
			}
			code = max(code, estimateExit(r.Report))
		}
		return exitWith(code)
	}
	return cmd
}

func explainCases(cmd *cobra.Command, f *runFlags, patterns, args []string) ([]spec.Case, error) {
	if len(patterns) > 0 {
		if name := f.given(cmd); name != "" {
			return nil, fmt.Errorf("got --%s beside --case, want one of them: a case says how it runs", name)
		}
		cases, err := loadCases(specPath(args), patterns)
		if err != nil {
			return nil, err
		}
		return cases, useProfile(cases, *f.scratch)
	}
	if len(args) == 0 {
		return nil, errors.New("explain: got neither an ARTIFACT nor --case, want one, see `memspec explain --help`")
	}
	c, err := f.oneCase(args[0])
	return []spec.Case{c}, err
}

// explained is a result with what its holders are gathered by.
type explained struct {
	*engine.Result
	by    report.By
	rows  int         // at most; 0 means all
	lines []*heldLine // by line
}

func (r *explained) write(w io.Writer) error {
	rep := r.Report
	head := fmt.Sprintf("%s on %s: %s", r.Case.Name, rep.Device, report.Headline(rep))
	if len(r.Verdict.Findings) > 0 {
		head += " (" + r.Verdict.Outcome.String() + ")"
	}
	fmt.Fprintln(w, head)
	for i := range r.Verdict.Findings {
		if f := &r.Verdict.Findings[i]; f.Outcome != verdict.Pass {
			fmt.Fprintf(w, "  %-9s  %s\n", f.Outcome, engine.FindingText(f))
		}
	}
	if rep.PeakAt != nil {
		fmt.Fprintf(w, "  peak at    %s\n", rep.PeakAt.String())
	}
	if rep.ReservedAt != nil {
		fmt.Fprintf(w, "  reserved   grew last at %s; %s of it (%s) stays cached but free\n", rep.ReservedAt.String(), rep.Cached,
			report.Percent(rep.Cached, rep.Peak.Reserved))
	}
	fmt.Fprintf(w, "  held at the allocated peak, by %s:\n", r.by)
	var err error
	if r.by == report.ByLine {
		err = writeLines(w, r.lines, r.rows)
	} else {
		err = report.WriteRows(w, r.by, report.Gather(rep.Holders, r.by), r.rows)
	}
	if err != nil {
		return err
	}
	return report.WriteAssumed(w, rep)
}
