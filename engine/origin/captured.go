package origin

import (
	"errors"
	"io/fs"
	"os"

	"github.com/memspec/memspec/engine/spec"
)

// Uncaptured is a case without an artifact whose recording is not there: it has to be run once. Its
// verdict is inconclusive.
type Uncaptured struct {
	Case  *spec.Case
	Path  string // where the recording is looked for
	Other bool   // there is one, and the list of the case's ranks is of another
}

func (e *Uncaptured) Error() string {
	if e.Other {
		return "got a recording of another run than its list of ranks (" + e.Path + "), want all of one, which this makes: " +
			CaptureCommand(e.Case)
	}
	return "got no recording of it (" + e.Path + "), want the one that this makes: " + CaptureCommand(e.Case)
}

// Path is the file that a case is predicted from: its artifact, or the recording of its source or
// program.
func Path(c *spec.Case) string {
	if path := c.Captured(); path != "" {
		return path
	}
	return c.Artifact
}

// Find is Path. The error is an *Uncaptured where that is a recording which is not there: no
// program could be run in its place.
func Find(c *spec.Case) (string, error) {
	path := c.Captured()
	if path == "" {
		return c.Artifact, nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", &Uncaptured{Case: c, Path: path}
	}
	return path, nil
}
