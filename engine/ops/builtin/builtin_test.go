package builtin_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
)

// TestTableLoads parses every schema of the table: a row that does not parse would fail only when a
// model asks for it.
func TestTableLoads(t *testing.T) {
	require.NoError(t, builtin.Table().Check())
}

// others are operators of other packages than PyTorch and torchvision, as they register them, and
// those that this build of PyTorch has not (XNNPACK's: native/xnnpack/RegisterOpContextClass.cpp).
var others = map[string]string{
	"prepacked::linear_clamp_prepack":           "prepacked::linear_clamp_prepack(Tensor W, Tensor? B=None, Scalar? output_min=None, Scalar? output_max=None) -> __torch__.torch.classes.xnnpack.LinearOpContext",
	"prepacked::linear_clamp_run":               "prepacked::linear_clamp_run(Tensor X, __torch__.torch.classes.xnnpack.LinearOpContext W_prepack) -> Tensor Y",
	"prepacked::conv2d_clamp_prepack":           "prepacked::conv2d_clamp_prepack(Tensor W, Tensor? B, int[2] stride, int[2] padding, int[2] dilation, int groups, Scalar? output_min=None, Scalar? output_max=None) -> __torch__.torch.classes.xnnpack.Conv2dOpContext",
	"prepacked::conv2d_clamp_run":               "prepacked::conv2d_clamp_run(Tensor X, __torch__.torch.classes.xnnpack.Conv2dOpContext W_prepack) -> Tensor Y",
	"prepacked::conv2d_transpose_clamp_prepack": "prepacked::conv2d_transpose_clamp_prepack(Tensor W, Tensor? B, int[2] stride, int[2] padding, int[2] output_padding, int[2] dilation, int groups, Scalar? output_min=None, Scalar? output_max=None) -> __torch__.torch.classes.xnnpack.TransposeConv2dOpContext",
	"prepacked::conv2d_transpose_clamp_run":     "prepacked::conv2d_transpose_clamp_run(Tensor X, __torch__.torch.classes.xnnpack.TransposeConv2dOpContext W_prepack) -> Tensor Y",
	// 5.23, integrations/moe.py
	"transformers::grouped_mm_fallback": "transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor",
}

// TestSchemas compares every row's schema with PyTorch's own text.
func TestSchemas(t *testing.T) {
	byKey, _ := aten.Registered(t)
	table := builtin.Table()
	for _, key := range table.Keys() {
		b, ok := table.Lookup(key)
		if !assert.True(t, ok, "%s: its schema does not parse", key) {
			continue
		}
		switch {
		case strings.HasPrefix(key, "memspec::"): // parts of operators, which PyTorch gives no name
		case others[key] != "":
			assert.Equal(t, others[key], b.Rule.Schema)
		default:
			assert.Equal(t, byKey[key], b.Rule.Schema)
		}
	}
}

// writesOut finds a keyword-only tensor that is written: the out= form of an operator.
var writesOut = regexp.MustCompile(`\*, .*Tensor(\[\])?\(\w!\).*\) ->`)

// TestOverloads checks that a name with a rule has all its overloads, out= forms apart, and that
// those that take tensors stand in PyTorch's order: another order, or a gap, resolves calls to the
// wrong one. Overloads on numbers, strings and containers are distinguished by type.
func TestOverloads(t *testing.T) {
	byKey, byName := aten.Registered(t)
	table := builtin.Table()
	var missing []string
	seen := map[string]bool{}
	for _, key := range table.Keys() {
		b, ok := table.Lookup(key)
		require.True(t, ok, key)
		name := b.Schema.Name
		if seen[name] {
			continue
		}
		seen[name] = true
		var want, got []string
		for _, key := range table.Overloads(name) {
			if byKey[key] != "" && ordered(byKey[key]) {
				got = append(got, key)
			}
		}
		for _, key := range byName[name] {
			if _, ok := table.Lookup(key); ok {
				if ordered(byKey[key]) {
					want = append(want, key)
				}
			} else if !writesOut.MatchString(byKey[key]) {
				missing = append(missing, key)
			}
		}
		assert.Equal(t, want, got, "the order of %s", name)
	}
	aten.CompareList(t, "testdata/overloads.txt", missing)
}

// ordered says that the place among the overloads matters: who gives an out takes an out= overload,
// and nobody else does.
func ordered(text string) bool { return takesTensor(text) && !writesOut.MatchString(text) }

func takesTensor(text string) bool {
	args, _, _ := strings.Cut(text, ") -> ")
	return strings.Contains(args, "Tensor") && !strings.Contains(args, "t[]") && !strings.Contains(args, "Dict(")
}
