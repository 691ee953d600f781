package exec_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// TestApplyInto: a result that is written into a tensor of the caller's.
func TestApplyInto(t *testing.T) {
	failed := errors.New("got nothing, want something")
	fails := func(*ops.Call) ([]tensor.Meta, error) { return nil, failed }
	for _, c := range []struct {
		why  string
		rule ops.Rule
		arg  any
		want string // the error, or nothing
		out  string // out, and its sizes
		live string
	}{
		{"a kernel writes there", ops.Rule{Schema: "t::f(int? n) -> Tensor", Out: gives(4)}, nil, "", "t0[4]", "+0=16"},
		{"out grows where it is too small", ops.Rule{Schema: "t::f(int? n) -> Tensor", Out: gives(6)}, nil, "", "t1[6]",
			"+0=16 +1=24 -0"},
		{"and shrinks on its storage", ops.Rule{Schema: "t::f(int? n) -> Tensor", Out: gives(2)}, nil, "", "t0[2]", "+0=16"},
		{"out cannot be of such sizes", ops.Rule{Schema: "t::f(int? n) -> Tensor",
			Out: func(*ops.Call) ([]tensor.Meta, error) { return []tensor.Meta{broken()}, nil }}, nil,
			"t::f: got strides of another length than sizes", "", "+0=16"},
		{"a kernel that refuses", ops.Rule{Schema: "t::f(int? n) -> Tensor", Out: fails}, nil, failed.Error(), "", "+0=16"},
		{"what is made of other operators copies", ops.Rule{Schema: "t::f(int? n) -> Tensor",
			Body: func(c *ops.Call) (any, error) { return c.Do("t::made"), nil }}, nil, "", "t0[4]", "+0=16 +1=12 -1"},
		{"one that fails", ops.Rule{Schema: "t::f(int? n) -> Tensor", Body: func(c *ops.Call) (any, error) {
			return nil, failed
		}}, nil, failed.Error(), "", "+0=16"},
		{"so does what gives two", ops.Rule{Schema: "t::f(int? n) -> (Tensor, Tensor)", Out: gives(1, 2)}, nil, "", "t0[4]",
			"+0=16 +1=4 +2=8 -1 -2"},
		{"or a list", ops.Rule{Schema: "t::f(int? n) -> Tensor[]", Out: gives(1)}, nil, "", "t0[4]", "+0=16 +1=4 -1"},
		{"what is not known is not written", ops.Rule{Schema: "t::f(int? n) -> Tensor", Out: fails},
			ops.NewUnbacked("t::n", schema.Int), "", "t0[4]", "+0=16"},
	} {
		y := newToy(t, "none", exec.Options{}, c.rule, ops.Rule{Schema: "t::made() -> Tensor", Out: gives(3)})
		out := y.of(meta(4))
		out.DType = tensor.Int32
		v, err := y.ApplyInto(y.bound("t::f"), []any{c.arg}, out)
		if c.want != "" {
			require.EqualError(t, err, c.want, c.why)
			continue
		}
		require.NoError(t, err, c.why)
		require.Same(t, out, v, c.why)
		require.Equal(t, c.out, shown(out)+fmt.Sprint(out.Sizes), c.why)
		require.Equal(t, tensor.Int32, out.DType, "%s: out keeps its dtype", c.why)
		require.Equal(t, c.live, y.lived(0), c.why)
		y.Drop(out)
		require.Equal(t, c.live, y.lived(0), "%s: the caller holds it once more", c.why)
		y.Drop(out)
		require.True(t, strings.HasPrefix(y.lived(0), c.live+" -"), c.why)
	}
}

// TestIntoForgets: what was known of out's elements, and of those of other tensors on its storage,
// is not known any more.
func TestIntoForgets(t *testing.T) {
	host := tensor.Meta{DType: tensor.Int64, Sizes: []int64{1}, Strides: []int64{1}, Device: "cpu"}
	one := func(*ops.Call) ([]tensor.Meta, error) { return []tensor.Meta{host}, nil }
	y := newToy(t, "none", exec.Options{},
		ops.Rule{Schema: "t::known() -> Tensor", Out: one, Value: func(*ops.Call) *tensor.Data {
			return &tensor.Data{Ints: []int64{7}}
		}},
		ops.Rule{Schema: "t::alias(Tensor(a) x) -> Tensor(a)", Out: one, Value: func(c *ops.Call) *tensor.Data {
			return c.T("x").Data
		}},
		ops.Rule{Schema: "t::f() -> Tensor", Out: one})
	x, err := y.Apply(y.bound("t::known"), nil)
	require.NoError(t, err)
	alias, err := y.Apply(y.bound("t::alias"), []any{x})
	require.NoError(t, err)
	require.Equal(t, "t0[7] t0view[1][7]", shown(x)+" "+shown(alias))
	_, err = y.ApplyInto(y.bound("t::f"), nil, x.(*tensor.Tensor))
	require.NoError(t, err)
	require.Equal(t, "t0 t0view[1]", shown(x)+" "+shown(alias))
}
