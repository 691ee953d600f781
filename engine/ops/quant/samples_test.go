package quant_test

import (
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/ops/quant"
)

func TestSamples(t *testing.T) { aten.Samples(t, builtin.Table(), quant.Rules) }

func TestFaults(t *testing.T) { aten.Faults(t, builtin.Table(), quant.Rules) }

func TestWrong(t *testing.T) { aten.Wrong(t, builtin.Table(), quant.Rules) }
