package spec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/spec"
)

// TestDamaged holds what is said to a file with one word damaged, and to which cases it leads:
// testdata/damaged.txtar.
func TestDamaged(t *testing.T) {
	golden.Run(t, "testdata/damaged.txtar", func(a *golden.Archive) {
		a.Want("said", []byte(golden.Damage(a.T(), string(a.Input("memspec.yaml")), func(text string) (string, error) {
			cases, err := spec.Parse("m.yaml", []byte(text))
			if err != nil { // the notes that there are have a separate test, and grow
				return "", errors.New(strings.ReplaceAll(err.Error(), strings.Join(note.IDs(), ", "), "…"))
			}
			var out strings.Builder
			for i := range cases {
				describe(&out, &cases[i])
			}
			return out.String(), nil
		})))
	})
}
