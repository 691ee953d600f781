package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLifetimes: the live ranges of recorded archives are what lifetime.Check wants of them: of the
// small ones in each runtime, of all traced ones as read off their stacks, and at their longest.
func TestLifetimes(t *testing.T) {
	families := map[string]bool{} // of big models the first stands for its siblings
	for _, r := range recordings(t) {
		family := familyOf(r.Model)
		for _, kind := range []string{"script", "trace"} {
			s := r.Stream(kind + ".torchscript")
			if s == nil || s.Artifact == "" {
				continue
			}
			open := opener(s.Artifact)
			for _, runtime := range []string{"eager", "torchscript"} {
				if (kind != "trace" || runtime != "eager") && !strings.Contains(s.Artifact, "/small/") {
					continue
				}
				if !strings.Contains(s.Artifact, "/small/") {
					if families[family] {
						continue
					}
					families[family] = true
				}
				m, c, err := caseNone(r, open, runtime)
				require.NoError(t, err)
				lifetimes(t, m, c, false)
				if kind == "trace" && runtime == "eager" {
					lifetimes(t, m, c, true)
				}
			}
		}
	}
}
