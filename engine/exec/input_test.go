package exec

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
)

// TestFitsWithoutMembers holds that a container type without the types of its members, as
// isinstance(v, (list, tuple)) has it, takes any.
func TestFitsWithoutMembers(t *testing.T) {
	list, tuple, dict := &ops.List{Items: []any{int64(1)}}, &ops.Tuple{Items: []any{int64(1), "a"}},
		&ops.Dict{Keys: []any{"a"}, Values: []any{int64(1)}}
	values := []any{list, tuple, dict, int64(1), nil}
	for kind, fits := range map[program.TypeKind]any{program.ListType: list, program.TupleType: tuple,
		program.DictType: dict} {
		for _, v := range values {
			require.Equal(t, v == fits, Fits(v, &program.Type{Kind: kind}), "%T as %v", v, kind)
		}
	}
	number := &program.Type{Kind: program.IntType}
	require.False(t, Fits(tuple, &program.Type{Kind: program.TupleType, Elems: []*program.Type{number}}),
		"of two members, one is wanted")
	require.True(t, Fits(list, &program.Type{Kind: program.ListType, Elems: []*program.Type{number}}))
}
