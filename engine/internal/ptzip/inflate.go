package ptzip

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"sync"
)

// inflaters keep their tables between records: an archive has hundreds of a few hundred bytes.
var inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// inflate fills out exactly, and reads no byte more than packed holds.
func inflate(out, packed []byte) error {
	r := inflaters.Get().(io.Reader)
	defer inflaters.Put(r)
	_ = r.(flate.Resetter).Reset(bytes.NewReader(packed), nil) // always nil
	n, err := io.ReadFull(r, out)
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("got %d bytes, want %d", n, len(out))
	case errors.Is(err, io.ErrUnexpectedEOF):
		if _, err = r.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
			return fmt.Errorf("got %d bytes, want %d", n, len(out))
		}
		return err
	case err != nil:
		return err
	}
	switch n, err := r.Read(make([]byte, 1)); {
	case n > 0:
		return fmt.Errorf("got more than %d bytes", len(out))
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}
