package schema

import (
	"strings"
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// TestDamaged holds what is said to schemas with one word damaged: testdata/damaged.txtar.
func TestDamaged(t *testing.T) {
	golden.Run(t, "testdata/damaged.txtar", func(a *golden.Archive) {
		for _, name := range []string{"schemas", "short"} {
			a.Want(name,
				[]byte(golden.Damage(a.T(), strings.TrimSpace(string(a.Input(name))), func(text string) (string, error) {
					s, err := Parse(text)
					if err != nil {
						return "", err
					}
					return dump(s), nil
				})))
		}
	})
}
