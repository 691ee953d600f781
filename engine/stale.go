package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/internal/lockfile"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/trace"
)

// An artifact is stale where what it was made from is not what is there now. Without Python that is known of the files, listings, variables and releases
// that a recording or the sidecar of an archive has, and of the texts of functions that an archive's debug records hold.

// staleness are the notes on what an artifact was made from: what has changed, and what could not be compared.
func (m *Model) staleness(c *spec.Case) ([]trace.Note, error) {
	var out []trace.Note
	add := func(id note.ID, undecided bool, subject string) {
		out = append(out, trace.Note{Note: note.Note{ID: id, Undecided: undecided, Subject: subject}, Site: trace.NoSite})
	}
	changes, unchecked, err := m.changes(c)
	if err != nil {
		return nil, err
	}
	if len(changes) > 0 {
		add(note.ArtifactStale, true, several(changes, ", ")+" since the artifact was made; to make it again: "+m.remake(c))
	}
	if unchecked != "" {
		add(note.DependsUnchecked, false, unchecked)
	}
	return out, nil
}

// several are the first of many texts, and how many more there are.
func several(texts []string, between string) string {
	const shown = 3
	if len(texts) <= shown {
		return strings.Join(texts, between)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(texts[:shown], between), len(texts)-shown)
}

// changes are what is not as it was, in words ("models/zoo.py has changed"), and what could not be compared.
func (m *Model) changes(c *spec.Case) (changes []string, unchecked string, err error) {
	if m.made == nil && c.Captured() != "" {
		return []string{"the recording does not tell what it was made from: its source may have changed"}, "", nil
	}
	if m.made != nil {
		place := m.place(c)
		if changes, err = m.made.Changes(place); err != nil {
			return nil, "", plain(err)
		}
		releases, open, err := m.releases(place)
		if err != nil {
			return nil, "", plain(err)
		}
		changes = append(changes, releases...)
		if place.Environ == nil && len(m.made.Variables) > 0 {
			open = append(open, "variables of the environment, which the caller did not give")
		}
		unchecked = strings.Join(open, "; ")
	}
	if m.Artifact.Program == nil || c.Source == "" {
		return changes, unchecked, nil
	}
	text, err := changedText(m.Artifact.Program, c)
	if text != "" {
		changes = append(changes, text)
	}
	return changes, unchecked, err
}

// place is where the artifact lies, with the folders that it may be compared with: the repositories of the artifact and of memspec.yaml.
func (m *Model) place(c *spec.Case) recording.Place {
	p := recording.Place{Folder: filepath.Dir(m.Path), Dir: c.Dir, Depends: c.Depends, Environ: m.environ}
	if p.Dir == "" {
		p.Dir = p.Folder
	}
	if full, err := filepath.Abs(p.Folder); err == nil {
		p.Roots = append(p.Roots, repository(full, filepath.Dir(full)))
	}
	if full, err := filepath.Abs(p.Dir); err == nil {
		p.Roots = append(p.Roots, repository(full, full))
	}
	return p
}

// repository is the nearest folder upwards that holds .git, or another one where none does.
func repository(folder, otherwise string) string {
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return otherwise
		}
	}
}

// releases compares the distributions that a run imported with what the repository pins: what is pinned to another release, and what could not be compared.
func (m *Model) releases(p recording.Place) (changes, unchecked []string, err error) {
	if len(m.made.Packages) == 0 {
		return nil, nil, nil
	}
	lock, err := findLock(p)
	if err != nil {
		return nil, nil, err
	}
	var open []string
	for _, name := range slices.Sorted(maps.Keys(m.made.Packages)) {
		was := m.made.Packages[name]
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
		unchecked = []string{fmt.Sprintf("releases of %s: the repository has no uv.lock, no poetry.lock and no requirements.txt with ==", several(open, ", "))}
	case len(open) > 0:
		unchecked = []string{fmt.Sprintf("releases of %s, which %s does not pin", several(open, ", "), lock.Name)}
	}
	return changes, unchecked, nil
}

// maxLock bounds a lock file.
const maxLock = 32 << 20

// findLock reads the lock files of the nearest folder that has some, from memspec.yaml's up to its repository.
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
		lock, err := lockfile.Find(names, func(name string) ([]byte, error) { return regular.Read(filepath.Join(at, name), maxLock) })
		if lock != nil || err != nil || at == top || at == filepath.Dir(at) {
			return lock, err
		}
	}
}

// remake is the command that makes the artifact again.
func (m *Model) remake(c *spec.Case) string {
	switch {
	case c.Captured() != "":
		return CaptureCommand(c)
	case m.made != nil && len(m.made.Command) > 0:
		return quoteAll(slices.Clone(m.made.Command))
	case c.Source != "" && c.Pos.File != "":
		return quoteAll([]string{"python", "-m", "memshim", "export", c.Pos.File})
	}
	return "python -m memshim export"
}

// CaptureCommand is the command that records a case which has a source and no artifact.
func CaptureCommand(c *spec.Case) string {
	words := []string{"python", "-m", "memshim", "capture"}
	if c.Pos.File != "" {
		name, on := c.Written()
		words = append(words, c.Pos.File, "--case", name)
		if on != "" {
			words = append(words, "--on", on)
		}
	} else {
		words = append(words, c.Source)
	}
	return quoteAll(words)
}

// changedText compares the functions that an archive was scripted from with the file of the case's source.
func changedText(p *program.Program, c *spec.Case) (string, error) {
	name, source := c.SourceFile()
	if name == "" {
		return "", nil
	}
	var lines []string
	for _, t := range texts(p, source) {
		if lines == nil {
			data, err := regular.Read(name, recording.MaxSourceFile)
			if errors.Is(err, fs.ErrNotExist) {
				return name + " is gone", nil
			}
			if err != nil {
				return "", plain(err)
			}
			lines = trimmedLines(data)
		}
		if !holdsLines(lines, trimmedLines([]byte(t.Text))) {
			return name + " no longer has the function that stood at its line " + strconv.Itoa(t.FirstLine), nil
		}
	}
	return "", nil
}

// texts are the functions of a program that come from a source file, as the archive names it: by a path that ends as the source's does, and not
// that of an installed package.
func texts(p *program.Program, source string) []*program.SourceText {
	var out []*program.SourceText
	end := strings.TrimLeft(path.Clean(filepath.ToSlash(source)), "./")
	w := &walker{program: p, seen: map[*program.Func]bool{}, reached: func(g *program.Graph) {
		t := g.Source
		if t == nil || slices.Contains(out, t) {
			return
		}
		file := filepath.ToSlash(t.File)
		if (file == end || strings.HasSuffix(file, "/"+end)) && !strings.Contains(file, "-packages/") {
			out = append(out, t)
		}
	}}
	_ = w.walk() // a function that cannot be read has no text; a run that needs it says so
	return out
}

// trimmedLines are the lines of a text that say something, without the blanks around them: scripting moves comments to the right.
func trimmedLines(text []byte) []string {
	var out []string
	for line := range bytes.Lines(text) {
		if s := string(bytes.TrimSpace(line)); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// holdsLines says whether some lines follow each other among others.
func holdsLines(all, some []string) bool {
	if len(some) == 0 {
		return true
	}
	for i := 0; i+len(some) <= len(all); i++ {
		if all[i] == some[0] && slices.Equal(all[i:i+len(some)], some) {
			return true
		}
	}
	return false
}

// Made returns what the artifact, or the sidecar beside it, says of how it was made; nil where neither does.
func (m *Model) Made() *recording.Made { return m.made }

// readMade is what the artifact, or the sidecar beside it, tells of how it was made.
func (m *Model) readMade(s *sidecar) {
	if rec := m.Artifact.Recorded; rec != nil && rec.Header != nil {
		m.made = rec.Header.Made
	} else if s != nil {
		m.made = s.Made
	}
}
