package faults_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/faults"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// TestFail: the call that was named fails, no other, and what only asks a rule is no call.
func TestFail(t *testing.T) {
	out := func(*ops.Call) ([]tensor.Meta, error) { return []tensor.Meta{{}}, nil }
	asks := func(c *ops.Call) (any, error) { return int64(7), nil }
	var inner func() error
	table, err := ops.NewTable([]ops.Rule{
		{Schema: "a::out(int n) -> Tensor", Out: out},
		{Schema: "a::body(int n) -> Tensor", Body: asks},
		{Schema: "a::host(int n) -> int", Host: asks, Ints: func(*ops.Call) []int64 { return []int64{1, 2} },
			Value:     func(*ops.Call) *tensor.Data { return &tensor.Data{Ints: []int64{3}} },
			Copies:    func(*ops.Call) bool { return inner() == nil },
			Workspace: func(*ops.Call) []workspace.Request { return []workspace.Request{workspace.Make(4)} }},
	})
	require.NoError(t, err)
	faulty, err := faults.New(table)
	require.NoError(t, err)
	require.Equal(t, table.Keys(), faulty.Keys())
	rule := func(key string) *ops.Rule {
		b, ok := faulty.Lookup(key)
		require.True(t, ok, key)
		return b.Rule
	}
	call := map[string]func() error{
		"out":  func() error { _, err := rule("a::out").Out(nil); return err },
		"body": func() error { _, err := rule("a::body").Body(nil); return err },
		"host": func() error { _, err := rule("a::host").Host(nil); return err },
	}
	inner = call["host"]
	order := []string{"out", "body", "host"}
	for at := range 5 {
		faulty.Fail(at, faults.Err)
		assert.Zero(t, faulty.Calls())
		for i, name := range order {
			host := rule("a::host")
			assert.Equal(t, []int64{1, 2}, host.Ints(nil))
			assert.Equal(t, []int64{3}, host.Value(nil).Ints)
			assert.True(t, host.Copies(nil), "it calls a rule, which only asks")
			assert.Len(t, host.Workspace(nil), 1)
			if err := call[name](); i+1 == at {
				assert.ErrorIs(t, err, faults.Err, "call %d: %s", at, name)
			} else {
				assert.NoError(t, err, "call %d: %s", at, name)
			}
			assert.Equal(t, i+1, faulty.Calls())
		}
	}
}
