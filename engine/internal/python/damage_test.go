package python

import (
	"path/filepath"
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// TestDamaged holds what is said to code with one word damaged, read at once and in two steps:
// testdata/damaged.
func TestDamaged(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "damaged", "*.txtar"), func(a *golden.Archive) {
		a.Want("said", []byte(golden.Damage(a.T(), string(a.Input("code/__torch__.py")), func(text string) (string, error) {
			f, err := Parse("m.py", text)
			if err != nil {
				return "", err
			}
			return Print(f), nil
		})))
		a.Want("outlined", []byte(golden.Damage(a.T(), string(a.Input("code/__torch__.py")), outlined)))
	})
}

// outlined reads the outline, and then each body.
func outlined(text string) (string, error) {
	var p Parser
	f := &File{Name: "m.py", Source: text}
	if err := p.Outline(f); err != nil {
		return "", err
	}
	return Print(f), nil
}
