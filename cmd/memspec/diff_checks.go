package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/internal/cli"
)

// checkedCase is a case of a check's result that was written as JSON.
type checkedCase struct {
	Name   string         `json:"name"`
	Spec   string         `json:"spec"`
	Report *report.Report `json:"report"`
}

// maxCheck bounds the result of a check: 10,000 cases have some 100 MiB.
const maxCheck = 1 << 30

// readCheck reads the result of memspec check --format json; nil where the file is none.
func readCheck(path string) ([]checkedCase, error) {
	if !isJSON(path) {
		return nil, nil
	}
	data, err := regular.Read(path, maxCheck)
	if err != nil {
		return nil, regular.Plain(err)
	}
	if err := report.CheckJSON(data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var file struct {
		Schema int          `json:"schema"`
		Cases  checkedCases `json:"cases"`
		Exit   *int         `json:"exit"`
	}
	err = json.Unmarshal(data, &file)
	var refused *caseError
	switch {
	case errors.As(err, &refused):
		return nil, fmt.Errorf("%s: %w", path, err)
	case err != nil || file.Exit == nil || file.Cases == nil:
		return nil, nil
	}
	if file.Schema != 1 {
		return nil, fmt.Errorf("%s: got a check of schema %d, want 1", path, file.Schema)
	}
	return file.Cases, nil
}

// maxChecked bounds the cases of a check: one of memspec.yaml has at most a tenth.
const maxChecked = 100_000

// checkedCases are read one by one.
type checkedCases []checkedCase

// A caseError is the result of a check with a case that no check writes.
type caseError struct{ text string }

func (e *caseError) Error() string { return e.text }

func (cs *checkedCases) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if first, err := d.Token(); err != nil || first != json.Delim('[') {
		return err
	}
	*cs = checkedCases{}
	for d.More() {
		var c checkedCase
		if err := d.Decode(&c); err != nil {
			return err
		}
		if c.Name == "" {
			return &caseError{fmt.Sprintf("cases[%d]: got no name", len(*cs))}
		}
		if len(*cs) == maxChecked {
			return &caseError{fmt.Sprintf("got more than %d cases", maxChecked)}
		}
		*cs = append(*cs, c)
	}
	return nil
}

// keysOf returns by what cases of two checks are matched: their names, and their files too where
// one of the checks has several cases of a name.
func keysOf(before, after []checkedCase) func(*checkedCase) string {
	repeated := map[string]bool{}
	for _, cases := range [][]checkedCase{before, after} {
		seen := map[string]bool{}
		for i := range cases {
			repeated[cases[i].Name] = repeated[cases[i].Name] || seen[cases[i].Name]
			seen[cases[i].Name] = true
		}
	}
	return func(c *checkedCase) string {
		if !repeated[c.Name] {
			return c.Name
		}
		file := c.Spec[:max(strings.LastIndexByte(c.Spec, ':'), 0)] // without the line
		return c.Name + "\x00" + file
	}
}

// byKey are cases by their keys, the first of each.
func byKey(cases []checkedCase, key func(*checkedCase) string) map[string]*checkedCase {
	out := make(map[string]*checkedCase, len(cases))
	for i := range cases {
		if k := key(&cases[i]); out[k] == nil {
			out[k] = &cases[i]
		}
	}
	return out
}

// checksDiff is what two checks differ in, by case.
type checksDiff struct {
	Schema int            `json:"schema"`
	Cases  []caseDiffJSON `json:"cases"` // that changed, by name
	Same   int            `json:"same"`  // how many did not
}

type caseDiffJSON struct {
	Name string `json:"name"`
	// changed, added, removed; unlike where they were other runs; unknown where one has no account
	Kind   string             `json:"kind"`
	Change string             `json:"change,omitempty"` // in words
	Diff   *report.Difference `json:"diff,omitempty"`
}

// compareChecks matches the cases of two checks by name, those of several files by file as well.
func compareChecks(before, after []checkedCase) *checksDiff {
	d := &checksDiff{Schema: 1, Cases: []caseDiffJSON{}}
	key := keysOf(before, after)
	were, are := byKey(before, key), byKey(after, key)
	for _, c := range after {
		was := were[key(&c)]
		if was == nil {
			d.Cases = append(d.Cases, caseDiffJSON{Name: c.Name, Kind: "added"})
			continue
		}
		if k, changed := compareCase(*was, c); changed {
			d.Cases = append(d.Cases, k)
		} else {
			d.Same++
		}
	}
	for _, b := range before {
		if are[key(&b)] == nil {
			d.Cases = append(d.Cases, caseDiffJSON{Name: b.Name, Kind: "removed"})
		}
	}
	slices.SortStableFunc(d.Cases, func(a, b caseDiffJSON) int { return cmp.Compare(a.Name, b.Name) })
	return d
}

func compareCase(before, after checkedCase) (caseDiffJSON, bool) {
	k := caseDiffJSON{Name: after.Name, Kind: "changed"}
	switch {
	case before.Report == nil && after.Report == nil:
		return k, false
	case before.Report == nil || after.Report == nil:
		k.Kind, k.Change = "unknown", "one of the two has no report of it"
		return k, true
	}
	if differ := report.Unlike(&before.Report.Run, &after.Report.Run); len(differ) > 0 {
		k.Kind, k.Change = "unlike", strings.Join(differ, "; ")+": "+bothFigures(before.Report, after.Report)
		k.Diff = report.Diff(before.Report, after.Report)
		return k, true
	}
	k.Diff = report.Diff(before.Report, after.Report)
	k.Change = k.Diff.Sentence(before.Report.PeakAt, after.Report.PeakAt)
	return k, k.Change != ""
}

// bothFigures are the peaks of two runs, each labelled: "allocated 70.8 MiB before and 141.2 MiB
// after".
func bothFigures(before, after *report.Report) string {
	var parts []string
	for _, m := range []report.Metric{report.Allocated, report.Reserved} {
		was, known := before.Value(m)
		is, too := after.Value(m)
		if known && too {
			parts = append(parts, fmt.Sprintf("%s %s before and %s after", m, was, is))
		}
	}
	return strings.Join(parts, ", ")
}

// increase is the largest share by which a metric of any case got worse. Runs of other inputs or on
// other devices do not count.
func (d *checksDiff) increase() (most float64) {
	for _, c := range d.Cases {
		if c.Diff == nil || c.Kind == "unlike" {
			continue
		}
		for i := range c.Diff.Metrics {
			most = max(most, worse(&c.Diff.Metrics[i]))
		}
	}
	return most
}

// worse is the share by which a size grew, or a number dropped, of which more is better. It is
// infinite of a size that was 0.
func worse(m *report.MetricChange) float64 {
	if m.Old == nil || m.New == nil {
		return 0
	}
	by := *m.New - *m.Old
	if m.Metric.Counts() {
		by = -by
	}
	switch {
	case by <= 0:
		return 0
	case *m.Old == 0:
		return math.Inf(1)
	}
	return float64(by) / float64(*m.Old)
}

// write adds each case that changed to every output.
func (d *checksDiff) write(out *cli.Outputs, code int) error {
	for _, c := range d.Cases {
		line := c.Name + ": " + c.Kind
		if c.Change != "" {
			line = c.Name + ": " + c.Change
			if c.Kind != "changed" {
				line = c.Name + ": " + c.Kind + ": " + c.Change
			}
		}
		k := &format.Case{Name: c.Name, Line: line, Text: func(w io.Writer) error { return cli.WriteLine(w, line) }}
		if c.Diff != nil {
			k.Figures = changeFigures(c.Diff)
		}
		if err := out.Add(k); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%s: %d the same, %d not", cli.Plural(d.Same+len(d.Cases), "case"), d.Same, len(d.Cases))
	return out.End(&format.Summary{Exit: code, JSON: d,
		Text: func(w io.Writer) error { return cli.WriteLine(w, text) }})
}
