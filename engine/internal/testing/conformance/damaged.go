package conformance

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/internal/testing/golden"
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

// Damaged holds what is said to small exported archives when one value of their documents is
// another or missing, and how the programs differ that are read all the same: testdata/damaged of
// artifact/torchexport, a file an archive. Root is the repository, seen from the folder of the
// test.
func Damaged(t *testing.T, root string) {
	golden.Run(t, filepath.Join(root, "engine", "artifact", "torchexport", "testdata", "damaged", "*.txtar"),
		func(a *golden.Archive) {
			data, err := os.ReadFile(filepath.Join(root, "testdata", "artifacts", "exported",
				filepath.Base(a.T().Name())+".pt2"))
			require.NoError(a.T(), err)
			archive, err := ptzip.Open(bytes.NewReader(data), int64(len(data)))
			require.NoError(a.T(), err)
			require.NoError(a.T(), fs.WalkDir(archive, ".", func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || !strings.HasSuffix(path, ".json") {
					return err
				}
				data, err := fs.ReadFile(archive, path)
				a.Want(path, []byte(golden.DamageJSON(a.T(), string(data), func(text string) (string, error) {
					return listed(changed{archive, path, text})
				})))
				return err
			}))
		})
}

// listed is the text of an archive's program.
func listed(f fs.FS) (string, error) {
	read, err := artifact.Decode(f)
	if err != nil {
		return "", err
	}
	if err := program.Check(read.Program); err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = program.Write(&b, read.Program)
	return b.String(), err
}
