package profile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// TestDamaged holds what is said to a profile with one value another or missing, and what is
// answered from those that are read: testdata/damaged.txtar.
func TestDamaged(t *testing.T) {
	golden.Run(t, "testdata/damaged.txtar", func(a *golden.Archive) {
		a.Want("said", []byte(golden.DamageJSON(a.T(), string(a.Input("profile.json")), func(text string) (string, error) {
			p, err := Parse([]byte(text))
			if err != nil {
				return "", err
			}
			var out strings.Builder
			if _, err := p.WriteTo(&out); err != nil {
				return "", err
			}
			for _, g := range p.Groups() {
				for _, e := range g.Entries {
					own, ok := p.Lookup(g.Answerer, &e.Call)
					other, by, stands := p.StandIn(Answerer{Library: "cudnn", Version: "9.11.0", Class: g.Class}, &e.Call)
					fmt.Fprintf(&out, "%s\n%+v %t, of 9.11.0 %+v by %v %t\n", e.Key(), own, ok, other, by, stands)
				}
			}
			return out.String(), nil
		})))
	})
}
