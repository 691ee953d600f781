package origin

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/spec"
)

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
				return "", regular.Plain(err)
			}
			lines = trimmedLines(data)
		}
		if !holdsLines(lines, trimmedLines([]byte(t.Text))) {
			return name + " no longer has the function that stood at its line " + strconv.Itoa(t.FirstLine), nil
		}
	}
	return "", nil
}

// texts are the functions of a program that come from a source file, as the archive names it: by a
// path that ends as the source's does, and not that of an installed package.
func texts(p *program.Program, source string) []*program.SourceText {
	var out []*program.SourceText
	end := strings.TrimLeft(path.Clean(filepath.ToSlash(source)), "./")
	_ = p.Reach(func(_ *program.Func, g *program.Graph) { // a function that cannot be read has no text; a run that needs it says so
		t := g.Source
		if t == nil || slices.Contains(out, t) {
			return
		}
		file := filepath.ToSlash(t.File)
		if (file == end || strings.HasSuffix(file, "/"+end)) && !strings.Contains(file, "-packages/") {
			out = append(out, t)
		}
	})
	return out
}

// trimmedLines are the lines of a text that say something, without the blanks around them:
// scripting moves comments to the right.
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
