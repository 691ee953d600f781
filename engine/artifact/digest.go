package artifact

import (
	"crypto/sha256"
	"errors"
	"io"
)

// Digest hashes what can be read of the artifact at a path: equal digests are equal programs or runs. Of an archive that is all but the bytes of large
// weights, which are never read: their names and sizes count. A folder has none.
func Digest(path string) (sum [sha256.Size]byte, err error) {
	f, err := openFile(path)
	if err != nil {
		return sum, plain(err)
	}
	defer f.close()
	h := sha256.New()
	io.WriteString(h, f.model)
	switch {
	case f.zip != nil:
		err = f.zip.WriteReadable(h)
	case f.from != nil:
		_, err = io.Copy(h, io.NewSectionReader(f.from, 0, f.size))
	default:
		err = errors.New("got a folder, want a file")
	}
	return [sha256.Size]byte(h.Sum(nil)), err
}
