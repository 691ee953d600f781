package torchscript

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/program"
)

// TestDamagedCode holds what code with one damaged word is lowered to: testdata/damaged.
func TestDamagedCode(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "damaged", "*.txtar"), func(a *golden.Archive) {
		a.Want("said", []byte(golden.Damage(a.T(), string(a.Input("code/__torch__.py")), func(text string) (string, error) {
			p, err := Decode(archive(text))
			if err != nil {
				return "", err
			}
			if err := program.Check(p); err != nil {
				return "", err
			}
			var b bytes.Buffer
			for _, f := range allFunctions(p) {
				if err := program.WriteFunc(&b, f); err != nil {
					return "", err
				}
			}
			return b.String(), nil
		})))
	})
}
