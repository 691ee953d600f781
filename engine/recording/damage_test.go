package recording_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/trace"
)

// TestDamagedRecords holds what is said to records with one value another or missing, and what is
// made of those that are read: testdata/damaged.
func TestDamagedRecords(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "damaged", "*.txtar"), func(a *golden.Archive) {
		whole := string(text(a.T(), filepath.Base(a.T().Name())))
		a.Want("said", []byte(golden.DamageJSON(a.T(), whole, func(text string) (string, error) {
			r, err := recording.Parse([]byte(text))
			if err != nil {
				return "", err
			}
			written, err := json.MarshalIndent(r, "", " ")
			if err != nil {
				return "", err
			}
			out := string(written)
			tr, err := r.Trace()
			if err != nil {
				return out + "\nno trace: " + err.Error(), nil
			}
			out += "\n" + tr.String()
			for i, of := range []func() (*trace.Trace, int, error){r.Replayable, r.Asked} {
				tr, n, err := of()
				out += fmt.Sprintf("asked: %t: %d %v\n", i == 1, n, err)
				if err == nil {
					out += tr.String()
				}
			}
			return out, nil
		})))
	})
}
