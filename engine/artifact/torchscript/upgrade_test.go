package torchscript

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/program"
)

// TestUpgrade follows the replacements that torch 2.15 makes in the archives that its own tests
// keep of old versions.
func TestUpgrade(t *testing.T) {
	for _, c := range []struct {
		op      string
		version int
		want    program.Upgrade
		why     string
	}{
		{"aten::div", 3, program.Div0To3, "integers were divided as C does"},
		{"aten::div_", 3, program.Div0To3, "in place too"},
		{"aten::div", 4, program.NoUpgrade, "version 4 divides as today"},
		{"aten::full", 4, program.Full0To4, "a number filled floats"},
		{"aten::full", 5, program.NoUpgrade, "version 5 fills as today"},
		{"aten::linspace", 7, program.Linspace0To7, "100 steps where none were given"},
		{"aten::linspace", 8, program.NoUpgrade, "version 8 wants them"},
		{"aten::logspace", 8, program.Logspace0To8, "logspace a version later"},
		{"aten::logspace", 9, program.NoUpgrade, "version 9 wants them"},
		{"aten::mul", 1, program.NoUpgrade, "most operators mean what they meant"},
	} {
		assert.Equal(t, c.want, upgrade(c.op, c.version), "%s of version %d: %s", c.op, c.version, c.why)
	}
}
