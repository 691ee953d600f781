// Package require is package assert for tests that end at the first failure, as testify's package
// of that name is: each function does what the one of assert does, and ends the test where that
// fails it.
//
//	func TestServes(t *testing.T) {
//		require.AtMost(t, "t4", "net.pt", map[report.Metric]units.Bytes{report.Reserved: 4 * units.GiB})
//		… // there is no point in going on without
//	}
package require

import (
	"github.com/memspec/memspec/assert"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// TB is what a test must offer: testing.T does, and testify's require.TestingT.
type TB interface {
	assert.TB
	FailNow()
}

// Case is assert.Case.
func Case(t TB, c spec.Case, options ...assert.Option) verdict.Verdict {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	return ended(t, assert.Case(t, c, options...))
}

// PeakAtMost is assert.PeakAtMost.
func PeakAtMost(t TB, artifact string, limit units.Bytes, inputs ...string) verdict.Verdict {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	return ended(t, assert.PeakAtMost(t, artifact, limit, inputs...))
}

// AtMost is assert.AtMost.
func AtMost(t TB, device, artifact string, limits map[report.Metric]units.Bytes, inputs ...string) verdict.Verdict {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	return ended(t, assert.AtMost(t, device, artifact, limits, inputs...))
}

// NoRegression is assert.NoRegression.
func NoRegression(t TB, c spec.Case, committed string, tolerance float64) verdict.Verdict {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	return ended(t, assert.NoRegression(t, c, committed, tolerance))
}

// ended ends the test of a verdict that is not OK.
func ended(t TB, v verdict.Verdict) verdict.Verdict {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	if !v.OK() {
		t.FailNow()
	}
	return v
}

// helper is a t that leaves functions out of the line it names: those that call Helper themselves.
type helper interface{ Helper() }
