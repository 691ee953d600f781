package pysource

import (
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// TestDamaged compares what is read of sources with one word damaged: testdata/damaged.txtar.
func TestDamaged(t *testing.T) {
	golden.Run(t, "testdata/damaged.txtar", func(a *golden.Archive) {
		read := func(text string) (string, error) { return show(Read(text)), nil }
		a.Want("statements", []byte(golden.Damage(a.T(), string(a.Input("source")), read)))
	})
}
