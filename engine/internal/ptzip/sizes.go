package ptzip

import (
	"errors"
	"io/fs"
)

// Sizes reports the true sizes of an archive's records, those that strip emptied included.
type Sizes struct {
	fs       fs.FS
	stripped map[string]int64
}

// SizesOf reads what strip left in an archive, presented as its top folder.
func SizesOf(archive fs.FS) (Sizes, error) {
	s := Sizes{fs: archive}
	data, err := fs.ReadFile(archive, StrippedRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	left, err := ReadStripped(data)
	s.stripped = left.Records
	return s, err
}

// Of is the true size of a record, false where there is none of that name.
func (s *Sizes) Of(record string) (int64, bool) {
	if n, ok := s.stripped[record]; ok {
		return n, true
	}
	if z, ok := s.fs.(interface{ Size(string) (int64, bool) }); ok {
		return z.Size(record)
	}
	info, err := fs.Stat(s.fs, record)
	if err != nil {
		return 0, false
	}
	return info.Size(), true
}
