package modelfolder

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// openFiles counts the files of a folder that are open.
type openFiles struct {
	fs.FS
	n int
}

type openFile struct {
	fs.File
	of *openFiles
}

func (o *openFiles) Open(name string) (fs.File, error) {
	f, err := o.FS.Open(name)
	if err == nil {
		o.n++
		f = openFile{f, o}
	}
	return f, err
}

func (f openFile) Close() error {
	f.of.n--
	return f.File.Close()
}

// A file of a folder is closed once it is read, whether it could be or not.
func TestFilesAreClosed(t *testing.T) {
	folder := &openFiles{FS: fstest.MapFS{"config.json": {Data: []byte("{}")}}}
	data, err := readAll(folder, "config.json", 2)
	require.NoError(t, err)
	assert.Equal(t, "{}", string(data))
	_, err = readAll(folder, "config.json", 1)
	require.Error(t, err)
	assert.Zero(t, folder.n)
}
