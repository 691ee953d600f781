package pointwise_test

import (
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/ops/pointwise"
)

func TestSamples(t *testing.T) { aten.Samples(t, builtin.Table(), pointwise.Rules) }

func TestRefused(t *testing.T) { aten.Refused(t, builtin.Table(), pointwise.Rules) }

func TestDevices(t *testing.T) { aten.Devices(t, builtin.Table(), pointwise.Rules) }

func TestFaults(t *testing.T) { aten.Faults(t, builtin.Table(), pointwise.Rules) }

func TestWrong(t *testing.T) { aten.Wrong(t, builtin.Table(), pointwise.Rules) }

func TestLeaves(t *testing.T) { aten.Leaves(t, builtin.Table(), pointwise.Rules) }
