package attention_test

import (
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/attention"
	"github.com/memspec/memspec/engine/ops/builtin"
)

func TestSamples(t *testing.T) { aten.Samples(t, builtin.Table(), attention.Rules) }

func TestRefused(t *testing.T) { aten.Refused(t, builtin.Table(), attention.Rules) }

func TestDevices(t *testing.T) { aten.Devices(t, builtin.Table(), attention.Rules) }

func TestFaults(t *testing.T) { aten.Faults(t, builtin.Table(), attention.Rules) }

func TestWrong(t *testing.T) { aten.Wrong(t, builtin.Table(), attention.Rules) }

func TestOthers(t *testing.T) { aten.Others(t, builtin.Table(), attention.Rules) }

func TestLeaves(t *testing.T) { aten.Leaves(t, builtin.Table(), attention.Rules) }
