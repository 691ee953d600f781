package linalg_test

import (
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/ops/linalg"
)

func TestSamples(t *testing.T) { aten.Samples(t, builtin.Table(), linalg.Rules) }

func TestRefused(t *testing.T) { aten.Refused(t, builtin.Table(), linalg.Rules) }

func TestDevices(t *testing.T) { aten.Devices(t, builtin.Table(), linalg.Rules) }

func TestFaults(t *testing.T) { aten.Faults(t, builtin.Table(), linalg.Rules) }

func TestWrong(t *testing.T) { aten.Wrong(t, builtin.Table(), linalg.Rules) }

func TestOthers(t *testing.T) { aten.Others(t, builtin.Table(), linalg.Rules) }

func TestLeaves(t *testing.T) { aten.Leaves(t, builtin.Table(), linalg.Rules) }
