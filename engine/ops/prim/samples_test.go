package prim_test

import (
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/ops/prim"
)

func TestSamples(t *testing.T) { aten.Samples(t, builtin.Table(), prim.Rules) }

func TestRefused(t *testing.T) { aten.Refused(t, builtin.Table(), prim.Rules) }

func TestWrong(t *testing.T) { aten.Wrong(t, builtin.Table(), prim.Rules) }
