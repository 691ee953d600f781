package main

import (
	"errors"
	"fmt"
	"io/fs"
)

// plainPathError says "PATH: no such file or directory" instead of "open PATH: …".
func plainPathError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && err.Error() == pe.Error() {
		return fmt.Errorf("%s: %w", pe.Path, pe.Err)
	}
	return err
}
