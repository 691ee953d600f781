package format

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/verdict"
)

// mostResults is how many results code scanning takes of a run.
const mostResults = 25000

// sarif writes SARIF 2.1.0, which code scanning reads: a result a finding, on the line of its
// budget, with the model's own line at the peak beside it where that file is the repository's. What
// passes has no result, as code scanning would show one as an alert: what passes rest on is a
// notification. A fingerprint is of the spec, the case and the rule, so that a result stays the
// same one when lines move. Of more than code scanning takes, errors stay before warnings, and a
// notification says how many are missing.
type sarif struct {
	w       io.Writer
	o       Options
	results []sarifResult
	rests   restingCases
}

func newSARIF(w io.Writer, o Options) Writer { return &sarif{w: w, o: o, results: []sarifResult{}} }

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	ColumnKind  string            `json:"columnKind"`
	Results     []sarifResult     `json:"results"`
}

type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	ExitCode      int                 `json:"exitCode"`
	Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Level   string    `json:"level"`
	Message sarifText `json:"message"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	URI     string      `json:"informationUri"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID      Rule      `json:"id"`
	Short   sarifText `json:"shortDescription"`
	Help    sarifText `json:"help"`
	Default struct {
		Level string `json:"level"`
	} `json:"defaultConfiguration"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	Rule         Rule              `json:"ruleId"`
	Index        int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      sarifText         `json:"message"`
	Locations    []sarifLocation   `json:"locations,omitempty"`
	Related      []sarifLocation   `json:"relatedLocations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"` // one key: the order does not matter
}

type sarifLocation struct {
	ID       int           `json:"id,omitempty"`
	Message  *sarifText    `json:"message,omitempty"`
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact struct {
		URI string `json:"uri"`
	} `json:"artifactLocation"`
	Region *sarifRegion `json:"region,omitempty"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}

// sarifRules are every rule, in the order of their indices.
var sarifRules = rules()

func rules() []sarifRule {
	var out []sarifRule
	add := func(id Rule, short, help string) {
		r := sarifRule{ID: id, Short: sarifText{Text: short}, Help: sarifText{Text: help}}
		r.Default.Level = "error"
		out = append(out, r)
	}
	for _, m := range report.BudgetMetrics() {
		kind, who := "GPU memory", " `memspec explain --case NAME` shows who holds it."
		if !m.OfDevice() {
			kind, who = "page-locked memory of the host", ""
		}
		add(BudgetRule(m), fmt.Sprintf("The budget on %s is broken", m),
			fmt.Sprintf("A run of the model takes more %s than memspec.yaml allows it: `%s` is over its budget.%s", kind, m,
				who))
	}
	add(RuleOutOfMemory, "The run does not fit its device", "An allocation asks for more memory than is left of the "+
		"device's, after everything cached was given back.")
	add(RuleDisagreement, "Predicted and measured memory are too far apart", "A measured peak is further from the "+
		"predicted one than the case's tolerance.")
	add(RuleInconclusive, "A budget could not be judged", "What the prediction lacks, or what was not measured, stands "+
		"in the message; nothing passes by accident.")
	add(RuleError, "A case could not be run", "The artifact cannot be read, or the model refuses its inputs.")
	for _, m := range report.ServingMetrics() {
		text := "An engine takes more GPU memory for the model than memspec.yaml allows it"
		if m.Counts() {
			text = "An engine has less left for its KV cache than memspec.yaml wants"
		}
		add(BudgetRule(m), fmt.Sprintf("The budget on %s is broken", m),
			fmt.Sprintf("%s: `%s`. `memspec explain --case NAME` shows where the memory is.", text, m))
	}
	return out
}

func (s *sarif) Case(c *Case) error {
	for _, f := range c.Findings {
		s.results = append(s.results, s.result(c, f))
	}
	s.rests.add(c)
	return nil
}

func (s *sarif) result(c *Case, f Finding) sarifResult {
	level := "error"
	if f.Outcome == verdict.Warn {
		level = "warning"
	}
	pos := f.Pos
	if pos.File == "" {
		pos = c.Pos
	}
	r := sarifResult{Rule: f.Rule, Level: level, Message: sarifText{Text: messageText(c.title() + ": " + oneLine(f.Text))}}
	r.Index = slices.IndexFunc(sarifRules, func(k sarifRule) bool { return k.ID == f.Rule })
	file := s.o.Paths.Named(pos.File)
	if file == "" && c.Report != nil {
		file = s.o.Paths.Named(c.Report.Artifact)
	}
	if file != "" {
		r.Locations = []sarifLocation{located(file, pos.Line, pos.Col)}
	}
	if at := peakOf(c.Report, f.Metric); at != nil {
		if below, in := s.o.Paths.Source(at.File); in && at.Line > 0 {
			l := located(below, at.Line, 0)
			l.ID, l.Message = 1, &sarifText{Text: messageText(oneLine("the peak: " + at.String()))}
			r.Related = []sarifLocation{l}
		}
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{file, c.Name, string(f.Rule), string(f.Metric)}, "\x00")))
	r.Fingerprints = map[string]string{"primaryLocationLineHash": fmt.Sprintf("%x:1", sum[:8])}
	return r
}

// peakOf is the moment that a finding on a metric is about.
func peakOf(r *report.Report, m report.Metric) *report.Moment {
	switch {
	case r == nil:
		return nil
	case r.OOM != nil:
		return &r.OOM.Moment
	case m == report.Reserved || m == report.Total:
		return r.ReservedAt
	case m == report.Weights || m == report.HostPinned || m == report.FirstCall && r.FirstCall != nil:
		return nil
	}
	return r.PeakAt
}

func located(file string, line, col int) sarifLocation {
	var l sarifLocation
	l.Physical.Artifact.URI = (&url.URL{Path: oneLine(file)}).String()
	if line > 0 {
		l.Physical.Region = &sarifRegion{StartLine: line, StartColumn: col}
	}
	return l
}

// messageText keeps a text from being read as SARIF's own markup: placeholders {0} and links
// [text](target). Brackets alone are left as they are, for case names hold them and viewers show a
// backslash.
func messageText(s string) string {
	return strings.NewReplacer("](", "] (", "{", "{{", "}", "}}").Replace(s)
}

func (s *sarif) End(sum *Summary) error {
	ran := sarifInvocation{Successful: sum.Exit != 2, ExitCode: sum.Exit}
	if n := len(s.results); n > mostResults {
		// error, warning
		slices.SortStableFunc(s.results, func(a, b sarifResult) int { return strings.Compare(a.Level, b.Level) })
		s.results = s.results[:mostResults]
		ran.Notifications = []sarifNotification{{"warning",
			sarifText{fmt.Sprintf("got %d results, code scanning takes %d: %d are left out", n, mostResults, n-mostResults)}}}
	}
	for _, group := range s.rests.groups {
		ran.Notifications = append(ran.Notifications, sarifNotification{"note", sarifText{messageText(group.text())}})
	}
	driver := sarifDriver{Name: "memspec", Version: s.o.Version, URI: "https://github.com/memspec/memspec",
		Rules: sarifRules}
	return report.EncodeJSON(s.w, sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{Tool: sarifTool{driver}, Invocations: []sarifInvocation{ran}, ColumnKind: "unicodeCodePoints",
			Results: s.results}},
	})
}
