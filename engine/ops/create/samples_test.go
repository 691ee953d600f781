package create_test

import (
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/ops/create"
)

func TestSamples(t *testing.T) { aten.Samples(t, builtin.Table(), create.Rules) }

func TestRefused(t *testing.T) { aten.Refused(t, builtin.Table(), create.Rules) }

func TestDevices(t *testing.T) { aten.Devices(t, builtin.Table(), create.Rules) }

func TestFaults(t *testing.T) { aten.Faults(t, builtin.Table(), create.Rules) }

func TestWrong(t *testing.T) { aten.Wrong(t, builtin.Table(), create.Rules) }

func TestLeaves(t *testing.T) { aten.Leaves(t, builtin.Table(), create.Rules) }
