package golden

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func write(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "case.txtar")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestOpenRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no reason", "-- a --\n1\n", "got no line `# reason: …`"},
		{"duplicate", "# reason: x\n-- a --\n1\n-- a --\n2\n", "got section a twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := open(write(t, tt.text))
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestSectionsThatNothingUses(t *testing.T) {
	t.Setenv("MEMSPEC_UPDATE", "")
	a, err := open(write(t, "# reason: x\n-- in --\n1\n-- want/out --\n2\n"))
	require.NoError(t, err)
	a.t = t
	assert.Equal(t, "1\n", string(a.Input("in")))
	assert.ErrorContains(t, a.finish(), "nothing uses: want/out", "an orphan")
	a.Want("out", []byte("2"))
	assert.NoError(t, a.finish())
}

func TestUpdateRewritesWantOnly(t *testing.T) {
	t.Setenv("MEMSPEC_UPDATE", "1")
	path := write(t, "# reason: x\n-- in --\n1\n-- want/gone --\n2\n-- want/out --\nold\n")
	a, err := open(path)
	require.NoError(t, err)
	a.t = t
	a.Input("in")
	a.Want("out", []byte("new"))
	require.NoError(t, a.finish())
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "# reason: x\n-- in --\n1\n-- want/out --\nnew\n", string(got))
}

// A share is every nth element, and the whole where it is asked for or golden files are rewritten.
func TestShare(t *testing.T) {
	list := []int{1, 2, 3, 4, 5, 6, 7}
	for _, tt := range []struct {
		whole, update string
		want          []int
	}{{"", "", []int{1, 4, 7}}, {"1", "", list}, {"", "1", list}} {
		t.Setenv("MEMSPEC_WHOLE", tt.whole)
		t.Setenv("MEMSPEC_UPDATE", tt.update)
		assert.Equal(t, tt.want, Share(list, 3))
		t.Run("needs the whole", func(t *testing.T) {
			NeedsWhole(t, "a reason")
			assert.Len(t, tt.want, len(list), "this runs only with the whole")
		})
	}
}
