package nn_test

import (
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/ops/nn"
)

func TestSamples(t *testing.T) { aten.Samples(t, builtin.Table(), nn.Rules) }

func TestRefused(t *testing.T) { aten.Refused(t, builtin.Table(), nn.Rules) }

func TestDevices(t *testing.T) { aten.Devices(t, builtin.Table(), nn.Rules) }

func TestFaults(t *testing.T) { aten.Faults(t, builtin.Table(), nn.Rules) }

func TestWrong(t *testing.T) { aten.Wrong(t, builtin.Table(), nn.Rules) }

func TestOthers(t *testing.T) { aten.Others(t, builtin.Table(), nn.Rules) }

func TestLeaves(t *testing.T) { aten.Leaves(t, builtin.Table(), nn.Rules) }
