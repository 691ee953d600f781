package origin

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/spec"
)

// changedText compares the functions that an archive was scripted from with the file of the case's
// source.
func changedText(p *program.Program, c *spec.Case) (string, error) {
	name, source := c.SourceFile()
	if name == "" {
		return "", nil
	}
	var lines []byte
	left := maxSearched
	for _, t := range texts(p, source) {
		if lines == nil {
			data, err := regular.Read(name, recording.MaxSourceFile)
			if errors.Is(err, fs.ErrNotExist) {
				return name + " is gone", nil
			}
			if err != nil {
				return "", regular.Plain(err)
			}
			lines = trimmedLines(data)
		}
		if left -= len(lines) + len(t.Text); left < 0 {
			return fmt.Sprintf("%s may have changed: more than %d MiB are not searched", name, maxSearched>>20), nil
		}
		if !holdsText(lines, t.Text) {
			return name + " no longer has the function that stood at its line " + strconv.Itoa(t.FirstLine), nil
		}
	}
	return "", nil
}

// texts are the functions of a program that come from a source file, as the archive names it: by a
// path that ends as the source's does, and not that of an installed package.
func texts(p *program.Program, source string) []*program.SourceText {
	var out []*program.SourceText
	seen := map[*program.SourceText]bool{}
	end := strings.TrimLeft(path.Clean(filepath.ToSlash(source)), "./")
	_ = p.Reach(func(_ *program.Func, g *program.Graph) {
		// a function that cannot be read has no text; a run that needs it says so
		t := g.Source
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		file := filepath.ToSlash(t.File)
		if (file == end || strings.HasSuffix(file, "/"+end)) && !strings.Contains(file, "-packages/") {
			out = append(out, t)
		}
	})
	return out
}

// maxSearched is how many bytes of a source are searched for all functions together: some seconds'.
const maxSearched = 1 << 30

// trimmedLines are the lines of a text that say something, each between two ends of lines, without
// the blanks around them: scripting moves comments to the right.
func trimmedLines(text []byte) []byte {
	out := append(make([]byte, 0, len(text)+2), '\n')
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			out = append(append(out, line...), '\n')
		}
	}
	return out
}

// holdsText says whether the lines of a text follow each other among others, which are trimmed.
func holdsText(lines []byte, text string) bool {
	return bytes.Contains(lines, trimmedLines([]byte(text)))
}
