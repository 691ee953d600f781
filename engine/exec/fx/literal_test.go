package fx

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
)

// Lists and dicts of a program are charged each time they are made: by its literals, and by
// arguments that have values among them. What comes after them fails.
func TestLiteralsAreCharged(t *testing.T) {
	golden.NeedsWhole(t, "the largest literals")
	const n = 1 << 20
	const limit = "got more than 268435456 bytes of strings, lists, tuples and dicts, want fewer"
	list := &program.ListLit{Items: make([]any, n)}
	dict := &program.DictLit{Keys: make([]any, n/2), Values: make([]any, n/2)}
	items := make([]program.Arg, n)
	for name, make := range map[string]func(w *walker){
		"list":           func(w *walker) { w.literal(list) },
		"dict":           func(w *walker) { w.literal(dict) },
		"list of values": func(w *walker) { w.arg(&program.Arg{Items: items}) },
	} {
		t.Run(name, func(t *testing.T) {
			onMachine(t, func(m *exec.Machine) {
				w := &walker{Machine: m, prog: &program.Program{Entry: &program.Func{}},
					graph: &program.Graph{Body: &program.Block{}}}
				for range 16 {
					make(w)
				}
				require.NoError(t, w.Within())
				make(w)
				assert.EqualError(t, w.compile(), limit)
				node := &program.Node{Operation: &program.Operation{}}
				assert.ErrorContains(t, w.run(&block{insts: []inst{{node: node}}}), limit)
			})
		})
	}
}

// A dict keeps the order in which its keys were written: loops go through it so.
func TestDictsKeepTheirOrder(t *testing.T) {
	onMachine(t, func(m *exec.Machine) {
		w := &walker{Machine: m, prog: &program.Program{Entry: &program.Func{}}}
		d := w.literal(&program.DictLit{Keys: []any{"b", "a"}, Values: []any{int64(1), int64(2)}}).(*ops.Dict)
		assert.Equal(t, []any{"b", "a"}, d.Keys)
		assert.Equal(t, []any{int64(1), int64(2)}, d.Values)
		assert.Equal(t, &ops.Packed{Class: "C"}, w.literal(&program.Opaque{Class: "C"}))
	})
}

// onMachine calls what looks at a machine before its run.
func onMachine(t *testing.T, look func(m *exec.Machine)) {
	t.Helper()
	done := errors.New("done")
	_, err := exec.Run(context.Background(), func(m *exec.Machine) (exec.Driver, error) {
		look(m)
		return nil, done
	}, builtin.Table(), exec.Options{Platform: &platform.Platform{}})
	require.ErrorIs(t, err, done)
}
