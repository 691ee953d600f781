package pysource

import (
	"errors"
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// TestDamaged holds what is read of sources and expressions with one word damaged: testdata/damaged.txtar.
func TestDamaged(t *testing.T) {
	golden.Run(t, "testdata/damaged.txtar", func(a *golden.Archive) {
		a.Want("statements", []byte(golden.Damage(a.T(), string(a.Input("source")), func(text string) (string, error) { return show(Read(text)), nil })))
		a.Want("trees", []byte(golden.Damage(a.T(), string(a.Input("expressions")), func(text string) (string, error) {
			x, ok := ParseExpr(text)
			if !ok {
				return "", errors.New("no expression")
			}
			return write(x), nil
		})))
	})
}
