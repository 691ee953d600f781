package reduce_test

import (
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/ops/reduce"
)

func TestSamples(t *testing.T) { aten.Samples(t, builtin.Table(), reduce.Rules) }

func TestRefused(t *testing.T) { aten.Refused(t, builtin.Table(), reduce.Rules) }

func TestDevices(t *testing.T) { aten.Devices(t, builtin.Table(), reduce.Rules) }

func TestFaults(t *testing.T) { aten.Faults(t, builtin.Table(), reduce.Rules) }

func TestWrong(t *testing.T) { aten.Wrong(t, builtin.Table(), reduce.Rules) }

func TestOthers(t *testing.T) { aten.Others(t, builtin.Table(), reduce.Rules) }

func TestLeaves(t *testing.T) { aten.Leaves(t, builtin.Table(), reduce.Rules) }
