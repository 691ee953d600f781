package suite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
)

// TestJudged holds what is judged of cases and what is said of it, and how that changes with one
// word of memspec.yaml or one value of its baseline: testdata/damaged.
func TestJudged(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "damaged", "*.txtar"), func(a *golden.Archive) {
		var ms suite.Models // the archives are the same, each baseline has a separate folder
		text, was := string(a.Input("memspec.yaml")), string(a.Input("baseline.json"))
		judged := func(text, was string) (string, error) {
			before := filepath.Join(a.T().TempDir(), "baseline.json")
			require.NoError(a.T(), os.WriteFile(before, []byte(was), 0o600))
			cases, err := spec.LoadAs(filepath.Join("..", "..", "testdata", "artifacts", "small", "memspec.yaml"), []byte(text))
			if err != nil {
				return "", golden.ErrNothingToReport // what is refused has its own tests
			}
			var out strings.Builder
			for _, c := range cases {
				c.Baseline = before
				r := ms.Judge(context.Background(), c)
				fmt.Fprintln(&out, strings.ReplaceAll(r.Line(), filepath.Dir(before), "DIR"))
				if r.Err != nil { // a message's lines break where the folder's name makes them
					continue
				}
				out.WriteString(r.Message(suite.MessageOptions{Rows: 9, Reproduce: []string{"again"}}))
				for _, s := range ms.Remedies(context.Background(), r) {
					fmt.Fprintf(&out, "  would pass: %s\n", s)
				}
			}
			return out.String(), nil
		}
		whole, err := judged(text, was)
		require.NoError(a.T(), err)
		a.Want("judged", []byte(whole))
		a.Want("words", []byte(golden.Damage(a.T(), text, func(text string) (string, error) { return judged(text, was) })))
		a.Want("values", []byte(golden.DamageJSON(a.T(), was, func(was string) (string, error) { return judged(text, was) })))
	})
}
