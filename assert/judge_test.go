package assert_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	memory "github.com/memspec/memspec/assert"
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
