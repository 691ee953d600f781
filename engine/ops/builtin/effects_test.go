package builtin_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
)

func TestEffects(t *testing.T) {
	fresh := ops.Effects{Known: true, Tensors: true, Kept: true, NeverNil: true}
	for _, tt := range []struct {
		name string
		args int
		want ops.Effects
		why  string
	}{
		{"aten::mm", 2, fresh, "one overload, a new tensor"},
		{"aten::add", 3, fresh, "add.out takes three arguments too, but only by name"},
		{"aten::maximum", 3, ops.Effects{Known: true, Lists: true, Tensors: true, NeverNil: true, Immutable: true},
			"maximum.out alone takes three: nothing is said"},
		{"aten::relu_", 1, ops.Effects{Known: true, Tensors: true, Kept: true, NeverNil: true, Views: 1, Writes: 1},
			"self is written and returned"},
		{"aten::transpose", 3, ops.Effects{Known: true, Tensors: true, Kept: true, NeverNil: true, Views: 1},
			"a view of self"},
		{"aten::split", 3, ops.Effects{Known: true, Parts: true, NeverNil: true, Views: 1}, "of a tensor, or of a string"},
		{"aten::unbind", 2, ops.Effects{Known: true, Lists: true, Parts: true, NeverNil: true, Views: 1}, "views in a list"},
		{"aten::_scaled_dot_product_flash_attention", 3, ops.Effects{Known: true, NeverNil: true},
			"tensors and numbers: no argument's form is kept"},
		{"aten::slice", 2, ops.Effects{Known: true, Kept: true, NeverNil: true, Views: 1},
			"a tensor of a tensor, a list of a list"},
		{"aten::size", 1, ops.Effects{Known: true, NeverNil: true}, "a list of a tensor"},
		{"aten::list", 1, ops.Effects{Known: true, NeverNil: true}, "of lists and strings alone"},
		{"aten::dim", 1, ops.Effects{Known: true, NeverNil: true, Immutable: true}, "a number"},
		{"aten::mm", 1, ops.Effects{Known: true, Lists: true, Tensors: true, NeverNil: true, Immutable: true},
			"too few arguments for any overload"},
		{"aten::no_such_operator", 1, ops.Effects{Lists: true, Tensors: true, NeverNil: true, Immutable: true}, ""},
	} {
		assert.Equal(t, tt.want, builtin.Table().Effects(tt.name, tt.args), "%s of %d arguments: %s", tt.name, tt.args,
			tt.why)
	}
}
