package artifact_test

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
)

// archive is a file with records, the weight last but one.
func archiveOf(t *testing.T, code string, weight []byte) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, rec := range []struct {
		name string
		data []byte
	}{{"m/code/__torch__.py", []byte(code)}, {"m/data/0", weight}, {"m/version", []byte("3\n")}} {
		f, err := w.CreateRaw(&zip.FileHeader{Name: rec.name, Method: zip.Store, UncompressedSize64: uint64(len(rec.data)), CompressedSize64: uint64(len(rec.data))})
		require.NoError(t, err)
		_, err = f.Write(rec.data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	path := filepath.Join(t.TempDir(), "m.pt")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o666))
	return path
}

// What a digest depends on is what can be read: not the bytes of large weights.
func TestDigest(t *testing.T) {
	digest := func(path string) [32]byte {
		sum, err := artifact.Digest(path)
		require.NoError(t, err)
		return sum
	}
	large, other := bytes.Repeat([]byte{1}, 1<<20), bytes.Repeat([]byte{2}, 1<<20)
	before := digest(archiveOf(t, "a", large))
	assert.Equal(t, before, digest(archiveOf(t, "a", large)))
	assert.Equal(t, before, digest(archiveOf(t, "a", other)), "large weights are never read")
	assert.NotEqual(t, before, digest(archiveOf(t, "b", large)), "code")
	assert.NotEqual(t, before, digest(archiveOf(t, "a", large[1:])), "a weight's size")
	assert.NotEqual(t, digest(archiveOf(t, "a", []byte{1})), digest(archiveOf(t, "a", []byte{2})), "small constants are read")

	file := filepath.Join(t.TempDir(), "x.rec")
	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o666))
	one := digest(file)
	require.NoError(t, os.WriteFile(file, []byte("{ }"), 0o666))
	assert.NotEqual(t, one, digest(file), "of a file that is no archive every byte counts")

	_, err := artifact.Digest(t.TempDir())
	assert.EqualError(t, err, "got a folder, want a file")
	_, err = artifact.Digest(filepath.Join(t.TempDir(), "none"))
	assert.EqualError(t, err, "no such file or directory")
}
