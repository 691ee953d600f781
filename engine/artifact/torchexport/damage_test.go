package torchexport

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/golden"
	"github.com/memspec/memspec/engine/program"
)

// changed is an archive with another text in one record.
type changed struct {
	fs.FS
	record, text string
}

func (c changed) Open(name string) (fs.File, error) {
	if name == c.record {
		return fstest.MapFS{name: {Data: []byte(c.text)}}.Open(name)
	}
	return c.FS.Open(name)
}

// TestDamagedDocuments holds what is said to the small archives when one value of their documents is another or missing: testdata/damaged.
func TestDamagedDocuments(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "damaged", "*.txtar"), func(a *golden.Archive) {
		archive := open(a.T(), filepath.Join(exported, filepath.Base(a.T().Name())+".pt2"))
		require.NoError(a.T(), fs.WalkDir(archive, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".json") {
				return err
			}
			data, err := fs.ReadFile(archive, path)
			a.Want(path, []byte(golden.DamageJSON(a.T(), string(data), func(text string) (string, error) {
				return printed(changed{archive, path, text})
			})))
			return err
		}))
	})
}

func printed(f fs.FS) (string, error) {
	p, err := Decode(f)
	if err != nil {
		return "", err
	}
	if err := program.Check(p); err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = program.Write(&b, p)
	return b.String(), err
}
