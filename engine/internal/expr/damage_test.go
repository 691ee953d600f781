package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// TestDamaged holds what is said to an expression with one word damaged: testdata/damaged.txtar.
func TestDamaged(t *testing.T) {
	golden.Run(t, "testdata/damaged.txtar", func(a *golden.Archive) {
		a.Want("said",
			[]byte(golden.Damage(a.T(), strings.TrimSpace(string(a.Input("expression"))), func(text string) (string, error) {
				e, err := Parse(text)
				if bad, ok := err.(*Error); ok {
					return "", fmt.Errorf("%d: %s", bad.Offset, bad.Msg)
				}
				if err != nil {
					return "", err
				}
				n, err := e.Eval(map[string]int64{"T": 96, "B": 5})
				if err != nil {
					return "", fmt.Errorf("%v has no value: %w", e, err)
				}
				return fmt.Sprintf("%v = %d over %v, a size: %t", e, n, e.Names(), e.HasUnit()), nil
			})))
	})
}
