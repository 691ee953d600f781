package view_test

import (
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/ops/view"
)

func TestSamples(t *testing.T) { aten.Samples(t, builtin.Table(), view.Rules) }

func TestRefused(t *testing.T) { aten.Refused(t, builtin.Table(), view.Rules) }

func TestDevices(t *testing.T) { aten.Devices(t, builtin.Table(), view.Rules) }

func TestFaults(t *testing.T) { aten.Faults(t, builtin.Table(), view.Rules) }

func TestWrong(t *testing.T) { aten.Wrong(t, builtin.Table(), view.Rules) }

func TestOthers(t *testing.T) { aten.Others(t, builtin.Table(), view.Rules) }

func TestLeaves(t *testing.T) { aten.Leaves(t, builtin.Table(), view.Rules) }
