package origin

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/internal/lockfile"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/regular"
)

// releases compares the distributions that a run imported with what the repository pins: what is
// pinned to another release, and what could not be compared.
func (o *Origin) releases(p recording.Place) (changes, unchecked []string, err error) {
	if len(o.Made.Packages) == 0 {
		return nil, nil, nil
	}
	lock, err := findLock(p)
	if err != nil {
		return nil, nil, err
	}
	var open []string
	for _, name := range slices.Sorted(maps.Keys(o.Made.Packages)) {
		was := o.Made.Packages[name]
		var pins []string
		if lock != nil {
			pins = lock.Releases(name)
		}
		switch {
		case len(pins) == 0:
			open = append(open, name)
		case !slices.ContainsFunc(pins, func(pin string) bool { return lockfile.Same(was, pin) }):
			changes = append(changes, fmt.Sprintf("%s %s → %s (%s)", name, was, strings.Join(pins, " or "), lock.Name))
		}
	}
	switch {
	case lock == nil:
		unchecked = []string{fmt.Sprintf("releases of %s: the repository has no uv.lock, no poetry.lock and no "+
			"requirements.txt with ==", several(open, ", "))}
	case len(open) > 0:
		unchecked = []string{fmt.Sprintf("releases of %s, which %s does not pin", several(open, ", "), lock.Name)}
	}
	return changes, unchecked, nil
}

// maxLock bounds a lock file.
const maxLock = 32 << 20

// findLock reads the lock files of the nearest folder that has some, from memspec.yaml's up to its
// repository.
func findLock(p recording.Place) (*lockfile.Lock, error) {
	at, err := filepath.Abs(p.Dir)
	if err != nil {
		return nil, err
	}
	for top := p.Roots[len(p.Roots)-1]; ; at = filepath.Dir(at) {
		entries, err := os.ReadDir(at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		var names []string
		for _, e := range entries {
			if e.Type().IsRegular() {
				names = append(names, e.Name())
			}
		}
		lock, err := lockfile.Find(names, func(name string) ([]byte, error) {
			return regular.Read(filepath.Join(at, name), maxLock)
		})
		if lock != nil || err != nil || at == top || at == filepath.Dir(at) {
			return lock, err
		}
	}
}
