package torchscript

import "github.com/memspec/memspec/engine/program"

// An archive of an old container version means by some operators what they did then; PyTorch
// replaces these when it loads it (torch/csrc/jit/operator_upgraders/upgraders_entry.cpp). gelu is
// among them and does the same.

// newest is the container version from which on nothing is replaced.
const newest = 9

// upgrade is what an operator of an archive of a version means.
func upgrade(op string, version int) program.Upgrade {
	if version >= newest {
		return program.NoUpgrade
	}
	switch {
	case version < 4 && (op == "aten::div" || op == "aten::div_"):
		return program.Div0To3
	case version < 5 && op == "aten::full":
		return program.Full0To4
	case version < 8 && op == "aten::linspace":
		return program.Linspace0To7
	case op == "aten::logspace":
		return program.Logspace0To8
	}
	return program.NoUpgrade
}
