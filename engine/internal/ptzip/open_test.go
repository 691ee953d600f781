package ptzip

import "bytes"

// OpenBytes opens an archive held in memory.
func OpenBytes(data []byte) (*Reader, error) { return Open(bytes.NewReader(data), int64(len(data))) }
