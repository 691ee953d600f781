package engine_test

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The widest a line may be, in characters of which a tab is one.
const codeColumns, commentColumns = 120, 100

// Lines of Go, C and prose fit beside each other on a screen; ruff checks those of Python. One that
// cannot be broken may be wider: a raw string, a schema (which is searched for as a whole), a word,
// a row of a table.
func TestLinesFit(t *testing.T) {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "dist" || d.Name() == "build") {
				return filepath.SkipDir
			}
			return err
		}
		wide := map[string]func([]byte) []string{".go": wideGo, ".c": wideC, ".h": wideC, ".md": wideProse}[filepath.Ext(path)]
		if wide == nil {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, line := range wide(text) {
			name, _ := filepath.Rel(root, path)
			assert.Failf(t, "a line is too wide", "%s:%s", filepath.ToSlash(name), line)
		}
		return nil
	}))
}

func TestWideLinesAreSeen(t *testing.T) {
	word := strings.Repeat("x", 130)
	words := strings.Repeat("abc ", 33)
	for _, c := range []struct{ why, text, want string }{
		{"a call with many arguments", "package p\nvar a = f(" + strings.Repeat("abc, ", 30) + "1)\n",
			"2: got 162 columns, want at most 120"},
		{"a string of words", "package p\nvar a = \"" + words + "\"\n", "2: got 142 columns, want at most 120"},
		{"a string of one word", "package p\nvar a = \"" + word + "\"\n", ""},
		{"a raw string", "package p\nvar a = `" + words + "\n" + words + "`\n", ""},
		{"a schema", "package p\nvar a = \"aten::op(" + words + ") -> Tensor\"\n", ""},
		{"a comment", "package p\n\n// " + words[:100] + "\n", "3: got 103 columns, want at most 100"},
		{"a comment of one word", "package p\n\n// " + word + "\n", ""},
		{"a comment that is a table", "package p\n\n//\t" + words[:110] + "\n", ""},
		{"a comment behind code", "package p\n\nvar a = 1 // " + words + "\n", "3: got 145 columns, want at most 120"},
		{"an example's output", "package p\n\n// Output:\n// " + words + "\n", ""},
	} {
		assert.Equal(t, c.want, strings.Join(wideGo([]byte(c.text)), "\n"), c.why)
	}
	assert.Equal(t, []string{"1: got 132 columns, want at most 120"}, wideC([]byte(words+"\n")))
	prose := "- " + words + "\n| " + words + "|\n    " + words + "\n`" + words + "`\n```\n" + words + "\n```\n"
	assert.Equal(t, []string{"1: got 134 columns, want at most 100"}, wideProse([]byte(prose)))
}

func tooWide(line int, text string, most int) string {
	return fmt.Sprintf("%d: got %d columns, want at most %d", line, utf8.RuneCountInString(text), most)
}

func wideC(text []byte) (out []string) {
	for i, line := range strings.Split(string(text), "\n") {
		if utf8.RuneCountInString(line) > codeColumns && strings.Contains(strings.TrimSpace(line), " ") {
			out = append(out, tooWide(i+1, line, codeColumns))
		}
	}
	return out
}

var codeSpan = regexp.MustCompile("`[^`]*`")

func wideProse(text []byte) (out []string) {
	block := false // of code
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			block = !block
		}
		words := codeSpan.ReplaceAllString(strings.TrimLeft(line, "-*0123456789. "), "`")
		kept := block || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") ||
			strings.ContainsAny(line[:min(1, len(line))], "|#<[")
		if !kept && utf8.RuneCountInString(line) > commentColumns && strings.Contains(words, " ") {
			out = append(out, tooWide(i+1, line, commentColumns))
		}
	}
	return out
}

func wideGo(text []byte) (out []string) {
	lines := strings.Split(string(text), "\n")
	whole := map[int]bool{} // lines that a string which cannot be broken makes wide
	output := false         // below "Output:" of an example
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	for pos, tok, lit := s.Scan(); tok != token.EOF; pos, tok, lit = s.Scan() {
		at := file.Position(pos)
		switch tok {
		case token.STRING:
			if lit[0] == '`' || strings.Contains(lit, ") -> ") || !strings.ContainsAny(strings.TrimRight(lit, `" `), " ") {
				for i := range strings.Count(lit, "\n") + 1 {
					whole[at.Line+i] = true
				}
			}
		case token.COMMENT:
			line := lines[at.Line-1]
			output = output && at.Column == 1 || strings.HasPrefix(lit, "// Output:")
			table := strings.HasPrefix(lit, "//\t") || strings.HasPrefix(lit, "//  ") || !strings.HasPrefix(lit, "// ")
			if strings.TrimLeft(line, "\t") != lit || output || table || !strings.Contains(strings.TrimPrefix(lit, "// "), " ") {
				whole[at.Line] = whole[at.Line] || strings.TrimLeft(line, "\t") == lit
			} else if utf8.RuneCountInString(line) > commentColumns {
				out = append(out, tooWide(at.Line, line, commentColumns))
				whole[at.Line] = true
			}
		}
	}
	for i, line := range lines {
		if !whole[i+1] && utf8.RuneCountInString(line) > codeColumns {
			out = append(out, tooWide(i+1, line, codeColumns))
		}
	}
	return out
}
