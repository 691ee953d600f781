package engine

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/trace"
)

// An artifact is stale where what it was made from is not what is there now. Two things tell without Python: the hashes of files that a
// recording or the sidecar of an archive has, and the texts of functions that an archive's debug records hold.

// stale is the note that says so, nil where nothing does.
func (m *Model) stale(c *spec.Case) (*trace.Note, error) {
	what, err := m.changed(c)
	if err != nil || what == "" {
		return nil, err
	}
	n := note.Note{ID: note.ArtifactStale, Subject: what + " since the artifact was made; to make it again: " + m.remake(c)}
	return &trace.Note{Note: n, Site: trace.NoSite}, nil
}

// changed says what is another now: "models/zoo.py has changed".
func (m *Model) changed(c *spec.Case) (string, error) {
	if m.made == nil && c.Captured() != "" {
		return "the recording does not tell what it was made from: its source may have changed", nil
	}
	if m.made != nil {
		file, what, err := m.made.Stale(filepath.Dir(m.Path))
		if err != nil {
			return "", plain(err)
		}
		if what != "" {
			return file + " " + what, nil
		}
	}
	if m.Artifact.Program == nil || c.Source == "" {
		return "", nil
	}
	return changedText(m.Artifact.Program, c)
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
		words = append(words, c.Pos.File, "--case", c.Name)
	} else {
		words = append(words, c.Source)
	}
	return quoteAll(words)
}

// changedText compares the functions that an archive was scripted from with the file of the case's source.
func changedText(p *program.Program, c *spec.Case) (string, error) {
	name := sourceFile(c)
	source, _, _ := strings.Cut(c.Source, ".py:")
	source += ".py"
	var lines []string
	for _, t := range texts(p, source) {
		if lines == nil {
			data, err := os.ReadFile(name)
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

// sourceFile is the file that a case's source names.
func sourceFile(c *spec.Case) string {
	source, _, _ := strings.Cut(c.Source, ".py:")
	name := filepath.FromSlash(source + ".py")
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.Dir, name)
	}
	return name
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

// readMade is what the artifact, or the sidecar beside it, tells of how it was made.
func (m *Model) readMade(s *sidecar) {
	if rec := m.Artifact.Recorded; rec != nil && rec.Header != nil {
		m.made = rec.Header.Made
	} else if s != nil {
		m.made = s.Made
	}
}
