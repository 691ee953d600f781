// Package lockfile reads which releases of Python distributions a repository pins.
//
// Three forms are read: uv.lock and poetry.lock, and of requirements*.txt the lines with ==.
// Nothing is resolved: a distribution that several lines pin, for several platforms, has several
// releases.
package lockfile

import (
	"bufio"
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Lock is what the files of one folder pin.
type Lock struct {
	Name     string // of the files: "uv.lock", "requirements.txt, requirements-dev.txt"
	releases map[string][]string
	pins     int
}

// Lock files of large projects pin some hundred distributions, each once or twice.
const (
	maxPins     = 100_000 // of all distributions
	maxReleases = 100     // of one
)

// Find reads the files of a folder; nil where it has none, or none that pins anything. names are
// the folder's, and read gives a file's text. A uv.lock comes before a poetry.lock, and that before
// requirements.
func Find(names []string, read func(name string) ([]byte, error)) (*Lock, error) {
	var requirements []string
	for _, name := range names {
		if ok, _ := filepath.Match("requirements*.txt", name); ok {
			requirements = append(requirements, name)
		}
	}
	slices.Sort(requirements)
	for _, form := range []struct {
		files []string
		parse func([]byte, *Lock)
	}{{[]string{"uv.lock"}, tables}, {[]string{"poetry.lock"}, tables}, {requirements, pinned}} {
		l := &Lock{releases: map[string][]string{}}
		var used []string
		for _, name := range form.files {
			if !slices.Contains(names, name) {
				continue
			}
			text, err := read(name)
			if err != nil {
				return nil, err
			}
			before := len(l.releases)
			form.parse(text, l)
			if l.pins > maxPins {
				return nil, fmt.Errorf("%s: got more than %d pinned releases, or more than %d of one distribution, want fewer",
					name, maxPins, maxReleases)
			}
			if len(l.releases) > before {
				used = append(used, name)
			}
		}
		if len(used) > 0 {
			l.Name = strings.Join(used, ", ")
			return l, nil
		}
	}
	return nil, nil
}

// Releases are those that are pinned of a distribution; none where it is not pinned.
func (l *Lock) Releases(distribution string) []string { return l.releases[normal(distribution)] }

// add notes a pin; false where there are too many.
func (l *Lock) add(name, release string) bool {
	if l.pins++; l.pins > maxPins {
		return false
	}
	if name, release = normal(name), strings.TrimSpace(release); name != "" && release != "" &&
		!slices.Contains(l.releases[name], release) {
		if len(l.releases[name]) == maxReleases {
			l.pins = maxPins + 1
			return false
		}
		l.releases[name] = append(l.releases[name], release)
	}
	return true
}

// tables reads the [[package]] tables of a TOML file, as uv and poetry write them: a key a line.
func tables(text []byte, l *Lock) {
	inside, name := false, ""
	for line := range lines(text) {
		if strings.HasPrefix(line, "[") {
			inside, name = strings.TrimSpace(line) == "[[package]]", ""
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !inside || !ok {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		switch strings.TrimSpace(key) {
		case "name":
			name = value
		case "version":
			if !l.add(name, value) {
				return
			}
		}
	}
}

var requirement = regexp.MustCompile(`^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*===?\s*([^\s;#,\\]+)`)

// pinned reads the lines of a requirements file that name one release.
func pinned(text []byte, l *Lock) {
	for line := range lines(text) {
		if m := requirement.FindStringSubmatch(line); m != nil && !l.add(m[1], m[2]) {
			return
		}
	}
}

// lines are those of a text; one of more than a MiB ends it.
func lines(text []byte) func(func(string) bool) {
	return func(yield func(string) bool) {
		s := bufio.NewScanner(bytes.NewReader(text))
		s.Buffer(nil, 1<<20)
		for s.Scan() && yield(strings.TrimRight(s.Text(), "\r")) {
		}
	}
}

var separators = regexp.MustCompile(`[-_.]+`)

// normal is a distribution's name as indexes compare it (PEP 503).
func normal(name string) string { return strings.ToLower(separators.ReplaceAllString(name, "-")) }

// Same says whether two texts name one release: 5.23 and 5.23.0 do, as do 2.15.0+cu132 and 2.15.0,
// which does not say for what it was built. A pin may end with .*.
func Same(release, pin string) bool {
	a, aBuild, _ := strings.Cut(strings.ToLower(release), "+")
	p, pBuild, _ := strings.Cut(strings.ToLower(pin), "+")
	if aBuild != "" && pBuild != "" && aBuild != pBuild {
		return false
	}
	if prefix, ok := strings.CutSuffix(p, ".*"); ok {
		return a == prefix || strings.HasPrefix(a, prefix+".")
	}
	return trimmed(a) == trimmed(p)
}

func trimmed(release string) string {
	release = strings.TrimPrefix(release, "v")
	for strings.HasSuffix(release, ".0") {
		release = strings.TrimSuffix(release, ".0")
	}
	return release
}
