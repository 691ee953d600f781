package prim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/ops"
)

func TestPyString(t *testing.T) {
	own := &ops.List{Refs: 1}
	own.Items = []any{own, own, int64(1)}
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, "None"},
		{true, "True"},
		{&ops.Tuple{Items: []any{int64(1), "a", 2.0}}, "(1, a, 2.)"},
		{&ops.Dict{Keys: []any{"k"}, Values: []any{&ops.List{Items: []any{false}}}}, "{k: [False]}"},
		{&ops.List{}, "[]"},
	} {
		assert.Equal(t, c.want, pyString(c.v))
	}
	got := pyString(own)
	assert.True(t, strings.HasPrefix(got, strings.Repeat("[", 201)+"..."), "the list, and 200 levels in it")
	assert.Less(t, len(got), maxString+100*maxNesting, "a list that holds itself is bounded")
	dict := &ops.Dict{}
	dict.Keys, dict.Values = []any{dict}, []any{nil}
	assert.Contains(t, pyString(dict), strings.Repeat("{", maxNesting)+"{...: ...}", "a dict that is its own key")
	dict.Keys, dict.Values = []any{int64(1)}, []any{dict}
	assert.Contains(t, pyString(dict), strings.Repeat("{1: ", maxNesting)+"{...: ...}", "a dict that is its own value")
}
