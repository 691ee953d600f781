package ptzip

import (
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// TestDamaged holds what is said to an archive of which one byte is another:
// testdata/damaged.txtar.
func TestDamaged(t *testing.T) {
	data := archive(t, entry{"net/data/0", "weights", stored}, entry{"net/a.py", strings.Repeat("a = 1\n", 9), deflated},
		entry{"net/d/", "", stored}, entry{"net/version", "3\n", stored})
	golden.Run(t, "testdata/damaged.txtar", func(a *golden.Archive) {
		a.Want("said", []byte(golden.DamageBytes(a.T(), data, func(text string) (string, error) {
			z, err := OpenBytes([]byte(text))
			if err != nil {
				return "", err
			}
			var out strings.Builder
			fmt.Fprintf(&out, "below %q", z.Root())
			for _, name := range z.Names() {
				size, _ := z.Size(name)
				got, err := z.ReadFile(name)
				fmt.Fprintf(&out, "; %q of %d: %x %v", name, size, crc32.ChecksumIEEE(got), err)
			}
			return out.String(), nil
		})))
	})
}
