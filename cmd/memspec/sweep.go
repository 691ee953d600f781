package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/internal/cli"
)

func newSweep() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep CASE [memspec.yaml] | ARTIFACT",
		Short: "Print the peaks over the values of a dim",
		Long: `Predict a case, or an artifact, at several values of one dim. The report has a table and a
picture of the peaks, what holds more as the dim grows, and a closed form where the peaks lie on a
line to the byte. Where the first pass and the later ones take otherwise, the table has both. Of an
engine (serve:) it has the engine's figures. -o FILE.csv has a row for each of these figures.

A range such as 1..64 is every value of it. A long one such as 1..4096 is its ends and the
multiples of a power of two between them. A third number is the step: 1..4096..1.

Each value is compared with the case's budgets, but the exit code is 0 whatever the result (3
where sizes are missing): memspec check judges, memspec fit searches.`,
		Example: `  memspec sweep 'resnet50[B=1]' --dim B=1..64
  memspec sweep model.pt --input 'x=float32[B,3,224,224]' --dim B=1,2,4,8 --device t4 -o peaks.csv`,
		Args: cli.WantArgs(1, 2, "a CASE and at most one memspec.yaml, or one ARTIFACT"),
	}
	f := cli.NewRunFlags(cmd)
	out := cli.NewOutputs(cmd, 0)
	basis := cli.JudgeFlag(cmd)
	q := cli.NewQuery(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		recorder := cli.Recorder(cmd, args)
		dim, values, err := sweptDim(f)
		if err != nil {
			return err
		}
		s, err := cli.NewSubject(cmd, f, args, basis)
		if err != nil {
			return err
		}
		s.Recorder = recorder
		if err := out.Open(len(values)); err != nil {
			return err
		}
		defer out.Abandon()
		models, err := q.Models()
		if err != nil {
			return err
		}
		results, err := models.Sweep(cmd.Context(), s.One(dim), values)
		if err != nil {
			return cmp.Or(q.Unanswered(), s.Unsearchable(err))
		}
		if err := q.Unanswered(); err != nil {
			return err
		}
		return writeSweep(out, &sweep{Subject: s, dim: dim, values: values, results: results})
	}
	return cmd
}

// maxSwept bounds a sweep: its table is read by people, its CSV by notebooks.
const maxSwept = 10_000

// sweptDim takes the one --dim with several values out of the flags: B=1..64, B=1..64..8, B=1,2,4;
// those with one value stay.
func sweptDim(f *cli.RunFlags) (dim string, values []int64, err error) {
	var rest []string
	for _, d := range f.Dims {
		name, list, ok := strings.Cut(d, "=")
		if !ok || !strings.Contains(list, "..") && !strings.Contains(list, ",") {
			rest = append(rest, d)
			continue
		}
		if dim != "" {
			return "", nil, fmt.Errorf("--dim: got several values for %s and for %s, want them for one", dim,
				strings.TrimSpace(name))
		}
		dim = strings.TrimSpace(name)
		if values, err = valuesOf(list); err != nil {
			return "", nil, fmt.Errorf("--dim %s: %w", dim, err)
		}
	}
	if dim == "" {
		return "", nil, fmt.Errorf("sweep: got no dim with several values, want one such as --dim B=1..64")
	}
	f.Dims = append(rest, dim) // open
	return dim, values, nil
}

func valuesOf(list string) ([]int64, error) {
	var out []int64
	for part := range strings.SplitSeq(list, ",") {
		ends := strings.Split(part, "..")
		if len(ends) > 3 {
			return nil, fmt.Errorf("got %q, want numbers such as 1,2,4, or a range such as 1..64 or 8..64..8", part)
		}
		var n [3]int64
		for i, e := range ends {
			v, err := strconv.ParseInt(strings.TrimSpace(e), 10, 64)
			if err != nil || v < 0 || i == 2 && v == 0 {
				return nil, fmt.Errorf("got %q, want numbers such as 1,2,4, or a range such as 1..64 or 8..64..8", part)
			}
			n[i] = v
		}
		var more []int64
		switch {
		case len(ends) > 1 && n[1] < n[0]:
			return nil, fmt.Errorf("got the range %s, want its end at or behind its beginning", part)
		case len(ends) == 1:
			more = n[:1]
		case len(ends) == 2:
			more = spaced(n[0], n[1])
		default:
			// behind the largest number comes a negative one
			for v := n[0]; len(more) == 0 || len(more) <= maxSwept && v > more[len(more)-1] && v <= n[1]; v += n[2] {
				more = append(more, v)
			}
		}
		if len(out)+len(more) > maxSwept {
			return nil, fmt.Errorf("got more than %d values, want fewer: a range takes a step, as in 1..65536..64",
				maxSwept)
		}
		out = append(out, more...)
	}
	return out, nil
}

// mostEach is up to how many values a range without a step is every one of them.
const mostEach = 128

// spaced are the values of a range without a step: every one, and of a long range the ends with
// what lies between them on the multiples of a power of two.
func spaced(from, to int64) []int64 {
	step := int64(1)
	for (to-from)/step >= mostEach {
		step *= 2
	}
	out := []int64{from}
	for last := from; last < to; out = append(out, last) {
		last -= last % step
		last += min(step, to-last) // never behind the largest number
	}
	return out
}
