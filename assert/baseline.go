package assert

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// NoRegression fails t if the case takes more than a committed report says, in any metric that both
// know, by more than tolerance (0.01 is 1 %). The case's own budgets are not judged. A failure
// shows the difference of the two accounts.
//
// The report is what memspec estimate --format json writes; write it again to accept a change. One
// of another run is an error: of other inputs, on another device, with another runtime, mode, torch
// or allocator setting.
func NoRegression(t TB, c spec.Case, committed string, tolerance float64) verdict.Verdict {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	if !valid(tolerance) {
		t.Errorf("memspec: got tolerance %v, want 0 or more (0.01 is 1%%)", tolerance)
		return verdict.Verdict{Outcome: verdict.Error}
	}
	before, err := readReport(committed)
	if err != nil {
		t.Errorf("memspec: %v; `memspec estimate --format json` writes one", err)
		return verdict.Verdict{Outcome: verdict.Error}
	}
	c.Budgets = budgets(before, committed, tolerance)
	r := judge(t, c)
	if r.Report != nil {
		if differ := report.Unlike(&before.Run, &r.Report.Run); len(differ) > 0 {
			t.Errorf("memspec: %s: got the report of another run than %s: %s", committed, c.Name,
				strings.Join(differ, "; "))
			return verdict.Verdict{Outcome: verdict.Error}
		}
	}
	if r.Report == nil || r.Verdict.Outcome == verdict.Pass {
		return reportTo(t, r)
	}
	t.Errorf("%s\n  against %s (-committed +now):\n%s", message(t, r), committed, accountDiff(before, r.Report))
	return r.Verdict
}

func readReport(path string) (*report.Report, error) {
	f, _, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := report.ReadJSON(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// budgets are the committed values with the tolerance added.
func budgets(before *report.Report, path string, tolerance float64) []verdict.Budget {
	var out []verdict.Budget
	for _, m := range report.Metrics() {
		v, ok := before.Value(m)
		if !ok {
			continue
		}
		b := verdict.Budget{Metric: m, Limit: grown(v, tolerance), Regression: true, Path: string(m) + " of " + path,
			Text: fmt.Sprintf("%s + %g%%", v, 100*tolerance)}
		if up, ok := before.UpperValue(m); ok {
			limit := grown(up, tolerance)
			b.UpperLimit = &limit
		}
		out = append(out, b)
	}
	return out
}

// grown is a size with the tolerance added.
func grown(v units.Bytes, tolerance float64) units.Bytes {
	return max(units.Bytes(math.Min(float64(v)*(1+tolerance), float64(units.Max))), v)
}

// account is what two reports are compared by: sizes, and who holds the peak by module, operator
// and kind.
type account struct {
	Sizes   []string
	Holders []string
}

func accountDiff(before, after *report.Report) string {
	// a line that differs is shown as it was and as it is
	whole := cmp.Comparer(func(a, b string) bool { return a == b })
	return indentDiff(cmp.Diff(accountOf(before), accountOf(after), whole))
}

func accountOf(r *report.Report) account {
	var a account
	for _, m := range report.Metrics() {
		if v, ok := r.Value(m); ok {
			a.Sizes = append(a.Sizes, fmt.Sprintf("%s %s", m, report.Both(v)))
		}
	}
	for _, row := range report.Fold(r.Holders) {
		a.Holders = append(a.Holders, strings.TrimSpace(fmt.Sprintf("%s %s %s", row.Flat, row.Where, row.What)))
	}
	return a
}

func indentDiff(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ")
}
