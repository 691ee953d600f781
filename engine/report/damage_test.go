package report_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/report"
)

// TestDamaged holds what the reports of testdata say when one value of their JSON is another or
// missing, by themselves and beside what they were: testdata/damaged, by the same names.
func TestDamaged(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "damaged", "*.txtar"), func(a *golden.Archive) {
		archive, err := txtar.ParseFile(filepath.Join("testdata", filepath.Base(a.T().Name())+".txtar"))
		require.NoError(a.T(), err)
		var text string
		for _, f := range archive.Files {
			if f.Name == "report.json" {
				text = string(f.Data)
			}
		}
		whole, err := report.ReadJSON(strings.NewReader(text))
		require.NoError(a.T(), err)
		a.Want("said", []byte(golden.DamageJSON(a.T(), text, func(text string) (string, error) {
			r, err := report.ReadJSON(strings.NewReader(text))
			if err != nil {
				return "", err
			}
			var out strings.Builder
			if err := report.WriteTextRows(&out, r, 0); err != nil {
				return "", err
			}
			for _, m := range report.Metrics() {
				v, ok := r.Value(m)
				upper, bounded := r.UpperValue(m)
				fmt.Fprintf(&out, "%s %d %t, at most %d %t\n", m, v, ok, upper, bounded)
			}
			d := report.Diff(whole, r)
			fmt.Fprintf(&out, "beside what it was: same %t, %s, %s\n", d.Same(), d.Head(), d.Sentence(whole.PeakAt, r.PeakAt))
			for _, why := range report.Unlike(&whole.Run, &r.Run) {
				fmt.Fprintf(&out, "another run: %s\n", why)
			}
			return out.String(), d.WriteText(&out, 0)
		})))
	})
}
