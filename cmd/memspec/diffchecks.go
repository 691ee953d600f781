package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/report"
)

// checkedCase is a case of a check's result that was written as JSON.
type checkedCase struct {
	Name   string         `json:"name"`
	Spec   string         `json:"spec"`
	Report *report.Report `json:"report"`
}

// readCheck reads the result of memspec check --format json; nil where the file is none.
func readCheck(path string) ([]checkedCase, error) {
	if !isJSON(path) {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, plainPathError(err)
	}
	var file struct {
		Schema int           `json:"schema"`
		Cases  []checkedCase `json:"cases"`
		Exit   *int          `json:"exit"`
	}
	if json.Unmarshal(data, &file) != nil || file.Exit == nil || file.Cases == nil {
		return nil, nil
	}
	if file.Schema != 1 {
		return nil, fmt.Errorf("%s: got a check of schema %d, want 1", path, file.Schema)
	}
	return file.Cases, nil
}

// checksDiff is what two checks differ in, by case.
type checksDiff struct {
	Schema int            `json:"schema"`
	Cases  []caseDiffJSON `json:"cases"` // that changed, by name
	Same   int            `json:"same"`  // how many did not
}

type caseDiffJSON struct {
	Name   string             `json:"name"`
	Kind   string             `json:"kind"`             // changed, added, removed; unlike where they were other runs; unknown where one has no account
	Change string             `json:"change,omitempty"` // in words
	Diff   *report.Difference `json:"diff,omitempty"`
}

// compareChecks matches the cases of two checks by name.
func compareChecks(before, after []checkedCase) *checksDiff {
	d := &checksDiff{Schema: 1, Cases: []caseDiffJSON{}}
	for _, c := range after {
		i := slices.IndexFunc(before, func(b checkedCase) bool { return b.Name == c.Name })
		if i < 0 {
			d.Cases = append(d.Cases, caseDiffJSON{Name: c.Name, Kind: "added"})
			continue
		}
		if k, changed := compareCase(before[i], c); changed {
			d.Cases = append(d.Cases, k)
		} else {
			d.Same++
		}
	}
	for _, b := range before {
		if !slices.ContainsFunc(after, func(c checkedCase) bool { return c.Name == b.Name }) {
			d.Cases = append(d.Cases, caseDiffJSON{Name: b.Name, Kind: "removed"})
		}
	}
	slices.SortFunc(d.Cases, func(a, b caseDiffJSON) int { return cmp.Compare(a.Name, b.Name) })
	return d
}

func compareCase(before, after checkedCase) (caseDiffJSON, bool) {
	k := caseDiffJSON{Name: after.Name, Kind: "changed"}
	switch {
	case before.Report == nil && after.Report == nil:
		return k, false
	case before.Report == nil || after.Report == nil:
		k.Kind, k.Change = "unknown", "one of the two has no account of it"
		return k, true
	}
	if differ := report.Unlike(&before.Report.Run, &after.Report.Run); len(differ) > 0 {
		k.Kind, k.Change = "unlike", strings.Join(differ, "; ")
		return k, true
	}
	k.Diff = report.Diff(before.Report, after.Report)
	k.Change = k.Diff.Sentence(before.Report.PeakAt, after.Report.PeakAt)
	return k, k.Change != ""
}

// increase is the largest share by which a metric of any case grew.
func (d *checksDiff) increase() (most float64) {
	for _, c := range d.Cases {
		if c.Diff == nil {
			continue
		}
		for _, m := range c.Diff.Metrics {
			if m.Old != nil && m.New != nil && *m.Old > 0 && *m.New > *m.Old {
				most = max(most, float64(*m.New-*m.Old)/float64(*m.Old))
			}
		}
	}
	return most
}

// write adds each case that changed to every output.
func (d *checksDiff) write(out *outputs, code int) error {
	for _, c := range d.Cases {
		line := c.Name + ": " + c.Kind
		if c.Change != "" {
			line = c.Name + ": " + c.Change
			if c.Kind != "changed" {
				line = c.Name + ": " + c.Kind + ": " + c.Change
			}
		}
		k := &format.Case{Name: c.Name, Line: line, Text: func(w io.Writer) error { return writeLine(w, line) }}
		if c.Diff != nil {
			k.Figures = changeFigures(c.Diff)
		}
		if err := out.add(k); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%s: %d the same, %d not", plural(d.Same+len(d.Cases), "case"), d.Same, len(d.Cases))
	return out.end(&format.Summary{Exit: code, JSON: d, Text: func(w io.Writer) error { return writeLine(w, text) }})
}

// parseShare reads a percentage.
func parseShare(text string) (float64, error) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(share >= 0) {
		return 0, fmt.Errorf("got %q, want a percentage such as 1%%", text)
	}
	return share / 100, nil
}
