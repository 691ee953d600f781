package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorder is a test that keeps what it is reported.
type recorder struct {
	testing.TB
	errors []string
}

func (*recorder) Helper()      {}
func (*recorder) Name() string { return "TestThis/one" }
func (o *recorder) Errorf(format string, a ...any) {
	o.errors = append(o.errors, fmt.Sprintf(format, a...))
}
func (o *recorder) Fatal(a ...any) { o.errors = append(o.errors, fmt.Sprint(a...)) }

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "want.txt")
	long := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		why, update, before, got, after, error string
		kept                                   bool
	}{
		{why: "what is not there is not right, whatever the code says", error: "(-want +got; MEMSPEC_UPDATE=1 go test -run " +
			"'^TestThis/one' ./engine/internal/testing/golden rewrites it)"},
		{why: "updating makes the file, and its folder", update: "1", got: "a\n", after: "a\n"},
		{why: "equal", before: "a\n", got: "a\n", after: "a\n", kept: true},
		{why: "another text", before: "a\n", got: "b\n", after: "a\n", kept: true, error: "want.txt (-want +got"},
		{why: "another text, updating", update: "1", before: "a\n", got: "b\n", after: "b\n"},
		{why: "an equal file keeps its time when updating: what Go's cache holds of its readers is good", update: "1",
			before: "b\n", got: "b\n", after: "b\n", kept: true},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Setenv("MEMSPEC_UPDATE", c.update)
			if c.before != "" {
				require.NoError(t, os.WriteFile(path, []byte(c.before), 0o644))
				require.NoError(t, os.Chtimes(path, long, long))
			}
			o := &recorder{TB: t}
			File(o, path, c.got)
			if c.error == "" {
				assert.Empty(t, o.errors)
			} else if assert.Len(t, o.errors, 1) {
				assert.Contains(t, o.errors[0], c.error)
			}
			after, err := os.ReadFile(path)
			if c.after == "" {
				require.ErrorIs(t, err, os.ErrNotExist)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.after, string(after))
			info, err := os.Stat(path)
			require.NoError(t, err)
			assert.Equal(t, c.kept, info.ModTime().Equal(long))
		})
	}
}

func TestWhatCannotBeReadIsReported(t *testing.T) {
	t.Setenv("MEMSPEC_UPDATE", "")
	o := &recorder{TB: t}
	File(o, t.TempDir(), "")
	assert.Contains(t, o.errors[0], "is a directory")
}
