package verdict_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// served is the report of an engine with 1000 tokens left, 990 where the driver takes the most that
// logs have.
func served(edit func(*report.Serving)) *report.Report {
	loaded, activation := 16*units.GiB, 2*units.GiB
	tokens, whole := int64(990), int64(9)
	s := &report.Serving{Fits: true, Loaded: &loaded, Activation: &activation,
		KV: &report.KVCache{Tokens: 1000, Requests: 10}, LeastTokens: &tokens, LeastWhole: &whole,
		Driver: report.DriverBytes{Most: 277 * units.MiB, Logged: true}}
	r := &report.Report{Serving: s, Quality: report.Estimated, Unknown: report.BudgetMetrics(),
		Notes: notes(note.DriverEstimate)}
	if edit != nil {
		edit(s)
		r.Notes = notes(note.DriverUnlogged)
	}
	return r
}

func unlogged(s *report.Serving) { s.LeastTokens, s.LeastWhole, s.Driver.Logged = nil, nil, false }

// Tokens and requests have a least: what the driver takes is an estimate, and a budget within its
// range is undecided. Loaded memory and activations are exact.
func TestABudgetOnAnEnginesNumbers(t *testing.T) {
	pass, fail, undecided := verdict.Pass, verdict.Fail, verdict.Inconclusive
	for _, tt := range []struct {
		why    string
		edit   func(*report.Serving)
		metric report.Metric
		limit  units.Bytes
		o      verdict.Options
		want   verdict.Outcome
	}{
		{"kept at both ends", nil, report.KVTokens, 990, verdict.Options{}, pass},
		{"within the range of the logs", nil, report.KVTokens, 991, verdict.Options{}, undecided},
		{"within it, the likely figure decides", nil, report.KVTokens, 991, verdict.Options{Basis: verdict.ByLikely}, pass},
		{"within it, allowed", nil, report.KVTokens, 991, verdict.Options{Allow: []string{"driver-estimate"}}, pass},
		{"exactly what is left", nil, report.KVTokens, 1000, verdict.Options{Basis: verdict.ByLikely}, pass},
		{"one more than is left", nil, report.KVTokens, 1001, verdict.Options{}, fail},
		{"one more, allowed", nil, report.KVTokens, 1001, verdict.Options{Allow: []string{"driver-estimate"}}, fail},
		{"whole requests", nil, report.Concurrency, 9, verdict.Options{}, pass},
		{"a request within the range", nil, report.Concurrency, 10, verdict.Options{}, undecided},
		{"no log of the card", unlogged, report.KVTokens, 1, verdict.Options{}, undecided},
		{"no log of the card, allowed", unlogged, report.KVTokens, 1000, verdict.Options{Allow: []string{"driver-unlogged"}},
			pass},
		{"no log of the card, and too little in any event", unlogged, report.KVTokens, 1001, verdict.Options{}, fail},
		{"loaded is exact, whatever the driver takes", unlogged, report.Loaded, 16 * units.GiB, verdict.Options{}, pass},
		{"loaded is over", unlogged, report.Loaded, 16*units.GiB - 1, verdict.Options{}, fail},
		{"activation is exact", unlogged, report.Activation, 2 * units.GiB, verdict.Options{}, pass},
		{"the engine was given its cache: no activation", func(s *report.Serving) { s.Activation = nil }, report.Activation,
			units.TiB, verdict.Options{}, undecided},
		{"it does not fit", func(s *report.Serving) { s.Fits, s.KV = false, nil }, report.Loaded, units.TiB,
			verdict.Options{}, fail},
	} {
		v := verdict.Judge(served(tt.edit), one(tt.metric, tt.limit), tt.o)
		assert.Equal(t, tt.want, v.Outcome, tt.why)
	}
}

// What a verdict says of an engine's numbers, and what it rests on.
func TestTheWordsOfAnEnginesNumbers(t *testing.T) {
	both := append(one(report.Loaded, units.GiB), one(report.KVTokens, 2000)...)
	v := verdict.Judge(served(nil), both, verdict.Options{})
	assert.Equal(t, "kv_tokens 1,000, at least 2,000: short by 1,000 (-50.0%)", v.Findings[1].String())
	assert.Equal(t, units.Bytes(1000), v.Findings[1].Over)
	share, _ := v.Findings[1].Share()
	assert.InDelta(t, 2.0, share, 0, "twice of what there is")
	assert.Equal(t, "estimate by driver-estimate", v.RestsOn())

	v = verdict.Judge(served(nil), one(report.KVTokens, 995), verdict.Options{})
	assert.Equal(t, "kv_tokens 1,000, at least 995: the driver takes up to 277.0 MiB outside of PyTorch "+
		"in public logs, which leaves 990 tokens; to make it exact: start the engine on the card", v.Findings[0].String())
	assert.True(t, v.Findings[0].Undecided())
	v = verdict.Judge(served(nil), one(report.KVTokens, 900), verdict.Options{})
	assert.Equal(t, "kv_tokens 1,000, at least 900", v.Findings[0].Held())
	v = verdict.Judge(served(nil), one(report.Loaded, 20*units.GiB), verdict.Options{})
	assert.Empty(t, v.RestsOn(), "no figure that is judged is an estimate")
	assert.Equal(t, report.Exact, v.Quality)
}
