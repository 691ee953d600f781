package assert_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	memory "github.com/memspec/memspec/assert"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// A budget that only the likely figure keeps fails, unless Likely or judge: likely lets that figure
// decide.
func TestLikely(t *testing.T) {
	const budget = "budget: {reserved: 100MiB}"
	for _, c := range []struct {
		rest    string
		options []memory.Option
		want    verdict.Outcome
	}{
		{budget, nil, verdict.Inconclusive},
		{budget, []memory.Option{memory.Predict}, verdict.Inconclusive},
		{budget, []memory.Option{memory.Likely}, verdict.Pass},
		{budget, []memory.Option{memory.Likely, memory.Predict}, verdict.Pass},
		{budget + "\njudge: likely", nil, verdict.Pass},
		{budget + "\njudge: likely", []memory.Option{memory.Basis(verdict.ByUpper)}, verdict.Inconclusive},
	} {
		n := &named{name: "TestMemory"}
		v := memory.Case(n, oneCase(t, "../../testdata/artifacts/torchvision/resnet18.script.pt", "float32[1,3,224,224]",
			c.rest), c.options...)
		assert.Equal(t, c.want, v.Outcome, "%s %v: %s", c.rest, c.options, n.errors)
	}
}

// Of two options of a kind the later one holds.
func TestLaterOptionsHold(t *testing.T) {
	for _, c := range []struct {
		options []memory.Option
		want    verdict.Outcome
	}{
		{[]memory.Option{memory.Basis(verdict.ByUpper), memory.Likely}, verdict.Pass},
		{[]memory.Option{memory.Likely, memory.Basis(verdict.ByUpper)}, verdict.Inconclusive},
	} {
		n := &named{name: "TestMemory"}
		v := memory.Case(n, oneCase(t, "../../testdata/artifacts/torchvision/resnet18.script.pt", "float32[1,3,224,224]",
			"budget: {reserved: 100MiB}"), c.options...)
		assert.Equal(t, c.want, v.Outcome)
	}
}

// What passes by the likely figure alone is logged.
func TestAPassByTheLikelyFigureIsLogged(t *testing.T) {
	n := &named{name: "TestMemory"}
	memory.Case(n, oneCase(t, "../../testdata/artifacts/torchvision/resnet18.script.pt", "float32[1,3,224,224]",
		"budget: {reserved: 100MiB}"), memory.Likely)
	assert.Empty(t, n.errors)
	if assert.Len(t, n.logs, 1) {
		assert.Contains(t, n.logs[0], "caution: reserved: ")
	}
}

// What is wrong with AtMost's arguments is reported in their order, and its limits in that of the
// metrics.
func TestAtMostsArguments(t *testing.T) {
	limits := map[report.Metric]units.Bytes{report.Allocated: units.KiB, report.Reserved: units.KiB}
	unknown := map[report.Metric]units.Bytes{"peak": units.KiB}
	for _, c := range []struct {
		device, input string
		limits        map[report.Metric]units.Bytes
		want          string
	}{
		{"toaster", smallInput, unknown, `got device "toaster"`},
		{"t4", "float32[B,32]", limits, `got dim "B" without a value`},
		{"t4", "float32[B,32]", unknown, `got dim "B" without a value`},
		{"t4", smallInput, unknown, `"peak", want one of`},
	} {
		n := &named{name: "TestMemory"}
		memory.AtMost(n, c.device, small, c.limits, c.input)
		if assert.Len(t, n.errors, 1) {
			assert.Contains(t, n.errors[0], c.want)
		}
	}
	n := &named{name: "TestMemory"}
	v := memory.AtMost(n, "t4", small, limits, smallInput)
	var metrics []report.Metric
	for _, f := range v.Findings {
		metrics = append(metrics, f.Metric)
	}
	assert.Equal(t, []report.Metric{report.Allocated, report.Reserved}, metrics)
}
