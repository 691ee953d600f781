// Package verdict judges a report against budgets.
//
// It turns a report and the budgets of a case into one outcome with a finding per budget. Nothing
// passes by accident: the zero outcome is Inconclusive, an account with missing sizes is
// inconclusive, and so is a case without a budget. It knows nothing of files or commands.
package verdict

import (
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
)

// Added is the file of what memspec check --set adds to a case, in the place of memspec.yaml.
const Added = "--set"

// Pos is a place in memspec.yaml. A budget written in Go has none.
type Pos struct {
	File      string
	Line, Col int
}

// String is file:line:col, as far as known.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Level says what breaking a budget does.
type Level uint8

// The levels. LevelFail is the default.
const (
	LevelFail Level = iota
	LevelWarn
)

func (l Level) String() string { return [...]string{"fail", "warn"}[l] }

// Basis is the figure of an estimate that decides. The zero value is ByUpper.
type Basis string

// The bases, as judge: in memspec.yaml has them.
const (
	ByUpper  Basis = "upper"  // a budget that only the likely figure keeps is undecided
	ByLikely Basis = "likely" // the likely figure decides; what the upper one breaks is a warning beside the pass
)

// Budget is a metric with its limit. Exactly at the limit passes.
type Budget struct {
	Metric report.Metric
	Limit  units.Bytes
	Level  Level
	Text   string // the limit as written: "60%", "98MiB + 12MiB*B"
	Path   string // where it is written: "models.resnet50.cases[1].budget.reserved"
	Pos    Pos

	// Regression says that Limit is what the same figure was before, with what it may take more: it
	// is compared with the plain prediction alone, and the upper figure with UpperLimit, which is
	// nil where the upper figure before is not known.
	Regression bool
	UpperLimit *units.Bytes
}

// over is by how much a value breaks the budget; 0 where it keeps it.
func (b *Budget) over(v units.Bytes) units.Bytes {
	if !b.Metric.Breaks(v, b.Limit) {
		return 0
	}
	return max(v-b.Limit, b.Limit-v)
}

// Outcome is what a case came to.
type Outcome uint8

// The outcomes. The zero value is Inconclusive.
const (
	Inconclusive Outcome = iota
	Pass
	Warn
	Fail
	Error
)

func (o Outcome) String() string {
	return [...]string{"inconclusive", "pass", "warn", "fail", "error"}[o]
}

// MarshalText makes an outcome a word in JSON.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Finding is one budget judged.
type Finding struct {
	Budget
	Outcome   Outcome
	Predicted units.Bytes
	Known     bool        // whether Predicted is known; a total is not where the context is not
	Over      units.Bytes // by how much Predicted exceeds the limit, or a number falls short of it; else 0
	Lower     units.Bytes // Predicted at the lower end of data-dependent sizes; see HasLower
	HasLower  bool
	// where an estimate at the upper bound breaks a budget that Predicted keeps: that size; else 0
	Upper  units.Bytes
	Open   bool   // whether Predicted keeps the budget and may be too low, nobody knows by how much
	NoRoom bool   // whether an estimate at the upper bound does not fit the device, though Predicted does
	Why    string // in words, where the sizes alone do not say it
}

// Undecided says whether the likely figure keeps the budget and the upper one breaks it, does not
// fit the device or is not known.
func (f *Finding) Undecided() bool {
	return f.Outcome == Inconclusive && (f.Upper > 0 || f.NoRoom || f.Open)
}

// Share is how much of its budget a figure takes, where it is known and the budget is not 0: a half
// is 0.5. Of a number it is how much of the number the budget takes.
func (f *Finding) Share() (share float64, ok bool) {
	of, limit := f.Predicted, f.Limit
	if f.Metric.Counts() {
		of, limit = limit, of
	}
	if !f.Known || limit <= 0 {
		return 0, false
	}
	return float64(of) / float64(limit), true
}

// Verdict is a case judged. Findings are in the order of the budgets.
type Verdict struct {
	Outcome  Outcome
	Quality  report.Quality // of the figures that the budgets are on
	Findings []Finding
	Why      []string // what made the whole case inconclusive or fail, where no single budget did
	Grounds  []Ground // what it rests on beside the figures
}

// OK says whether nothing is broken: a pass, or a warning.
func (v Verdict) OK() bool { return v.Outcome == Pass || v.Outcome == Warn }

// Options are what Judge may be known besides.
type Options struct {
	Lower  *report.Report // the same run with data-dependent sizes at their lower end
	Allow  []string       // IDs of notes that do not count
	Assume []string       // what the case states of sizes, each in words
	Basis  Basis          // which figure of an estimate decides
}

// Worst is the outcome of several that decides: Fail before Error before Inconclusive before Warn
// before Pass.
func Worst(outcomes ...Outcome) Outcome {
	for _, o := range []Outcome{Fail, Error, Inconclusive, Warn} {
		if slices.Contains(outcomes, o) {
			return o
		}
	}
	return Pass
}

// ExitCode is the exit code of many cases: 1 if any failed, else 2 if any is an error, else 3 if
// any is inconclusive, else 0.
func ExitCode(outcomes []Outcome) int {
	switch Worst(outcomes...) {
	case Fail:
		return 1
	case Error:
		return 2
	case Inconclusive:
		return 3
	}
	return 0
}
