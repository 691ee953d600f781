package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/internal/cli"
)

// TestCaseAsJSON: what is not known is null or left out, as the schema of a check has it.
func TestCaseAsJSON(t *testing.T) {
	pos := func(line int) spec.Pos { return spec.Pos{File: "a.yaml", Line: line, Col: 7} }
	r := &suite.Result{Case: spec.Case{Name: "m", Pos: pos(3)}, Change: "allocated +1 B", Err: errors.New("no"),
		Verdict: verdict.Verdict{Outcome: verdict.Fail, Findings: []verdict.Finding{
			{Budget: verdict.Budget{Metric: report.Allocated, Limit: 5, Pos: pos(4), Regression: true},
				Outcome: verdict.Fail, Known: true, Predicted: 7, Over: 2},
			{Budget: verdict.Budget{Metric: report.Total, Limit: 9, Pos: pos(5)}, Outcome: verdict.Inconclusive, Why: "w",
				Upper: 11},
		}}}
	text, err := json.MarshalIndent(asJSON(r), "", " ")
	require.NoError(t, err)
	assert.Equal(t, `{
 "name": "m",
 "spec": "a.yaml:3",
 "outcome": "fail",
 "error": "no",
 "findings": [
  {
   "metric": "allocated",
   "limit": 5,
   "predicted": 7,
   "measured": null,
   "over": 2,
   "spec": "a.yaml:4",
   "outcome": "fail",
   "regression": true
  },
  {
   "metric": "total",
   "limit": 9,
   "predicted": null,
   "measured": null,
   "over": 0,
   "spec": "a.yaml:5",
   "outcome": "inconclusive",
   "why": "w",
   "upper": 11
  }
 ],
 "change": "allocated +1 B",
 "report": null
}`, string(text))
	bare, err := json.Marshal(asJSON(&suite.Result{}))
	require.NoError(t, err)
	assert.Equal(t, `{"name":"","spec":"","outcome":"inconclusive","error":"","findings":[],"report":null}`, string(bare))
}

// TestLegend: each ground that a case which passes rests on is explained once, in their order, and
// at most so many.
func TestLegend(t *testing.T) {
	passes := func(grounds ...verdict.Ground) *suite.Result {
		return &suite.Result{Verdict: verdict.Verdict{Outcome: verdict.Pass, Grounds: grounds}}
	}
	origin := func(text string) verdict.Ground { return verdict.Ground{Kind: verdict.GroundOrigin, Text: text} }
	c := &checked{out: &cli.Outputs{}}
	c.explain(passes(origin("b"), origin("a")))
	c.explain(passes(origin("a"), verdict.Ground{Kind: verdict.GroundNote, ID: note.WorkspaceEstimate, Settle: "s"}))
	failed := passes(origin("of a failure"))
	failed.Verdict.Outcome = verdict.Fail
	c.explain(failed)
	erred := passes(origin("of an error"))
	erred.Err = errors.New("no")
	c.explain(erred)
	k, _ := note.Of(note.WorkspaceEstimate)
	assert.Equal(t, []string{"origin unknown: b", "origin unknown: a",
		"workspace-estimate: " + k.Meaning + "; to make it exact: s"}, c.legend)
	for _, quiet := range []*checked{{out: &cli.Outputs{Quiet: true}}, {out: &cli.Outputs{}, verbose: true}} {
		quiet.explain(passes(origin("a")))
		assert.Empty(t, quiet.legend)
	}

	written := func(n int) string {
		c := &checked{}
		for i := range n {
			c.legend = append(c.legend, fmt.Sprint("line ", i))
		}
		var b strings.Builder
		require.NoError(t, c.writeLegend(&b))
		return b.String()
	}
	assert.Empty(t, written(0))
	assert.Equal(t, "what passes rest on:\n  line 0\n", written(1))
	whole := written(mostExplained)
	assert.Equal(t, mostExplained+1, strings.Count(whole, "\n"))
	assert.Equal(t, whole+"  … 3 more (-v)\n", written(mostExplained+3))
}

// TestTightest: the budget that holds with the least room is named, the first of equals; what is
// broken or has no figure is none.
func TestTightest(t *testing.T) {
	finding := func(metric report.Metric, predicted, limit units.Bytes) verdict.Finding {
		return verdict.Finding{Budget: verdict.Budget{Metric: metric, Limit: limit}, Outcome: verdict.Pass, Known: true,
			Predicted: predicted}
	}
	broken, unknown := finding(report.Total, 99, 100), finding(report.Total, 99, 100)
	broken.Outcome, unknown.Known = verdict.Fail, false
	c := &checked{}
	assert.Equal(t, "1.5 s", c.closing(1500*time.Millisecond))
	add := func(name string, findings ...verdict.Finding) {
		c.notice(&suite.Result{Case: spec.Case{Name: name}, Verdict: verdict.Verdict{Findings: findings}})
	}
	add("a", unknown, finding(report.Weights, 0, 100), broken)
	assert.Equal(t, "0.0 s, least room: a, weights 0 B of 100 B (0.0%)", c.closing(0))
	add("b", finding(report.Reserved, 50, 100), finding(report.Allocated, 5, 10))
	add("c", finding(report.Allocated, 1, 2), finding(report.Allocated, 1, 3))
	assert.Equal(t, "0.0 s, least room: b, reserved 50 B of 100 B (50.0%)", c.closing(0))
}
