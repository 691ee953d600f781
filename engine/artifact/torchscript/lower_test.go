package torchscript

import (
	"bytes"
	"errors"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/program"
)

// emptyRoot is a data.pkl that holds an object of __torch__.M without attributes.
const emptyRoot = "\x80\x02c__torch__\nM\n)\x81}b."

// archive is an archive of one code record.
func archive(src string) fstest.MapFS {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	return fstest.MapFS{"version": file("3\n"), "data.pkl": file(emptyRoot), "constants.pkl": file("\x80\x02)."),
		"code/__torch__.py": file(src)}
}

// What a source is lowered to: testdata/lower.
func TestLower(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "lower", "*.txtar"), func(a *golden.Archive) {
		p, err := Decode(archive(string(a.Input("code/__torch__.py"))))
		require.NoError(a.T(), err)
		require.NoError(a.T(), program.Check(p))
		var b bytes.Buffer
		for _, f := range allFunctions(p) {
			require.NoError(a.T(), program.WriteFunc(&b, f))
		}
		a.Want("program", b.Bytes())
	})
}

// Bad sources fail on the line that says so: testdata/errors/torchscript_lower.txtar.
func TestErrors(t *testing.T) {
	a, err := txtar.ParseFile(filepath.Join(root, "testdata", "errors", "torchscript_lower.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, a.Files)
	for _, f := range a.Files {
		t.Run(f.Name, func(t *testing.T) {
			lines := strings.Split(strings.TrimRight(string(f.Data), "\n"), "\n")
			line, pattern := 0, ""
			for i, l := range lines {
				if before, after, ok := strings.Cut(l, " ### "); ok {
					require.Zero(t, line, "one expectation a file")
					lines[i], line, pattern = before, i+1, strings.Trim(after, "`")
				}
			}
			require.NotZero(t, line, "no expectation")
			src := strings.Join(lines, "\n") + "\n"
			if !strings.Contains(src, "class M(") {
				src += "class M(Module):\n  pass\n"
			}
			p, err := Decode(archive(src))
			if err == nil {
				err = program.Check(p)
			}
			require.Error(t, err)
			var e *python.Error
			if errors.As(err, &e) {
				assert.Equal(t, line, e.Line, "%v", err)
				assert.Equal(t, "code/__torch__.py", e.File)
			} else {
				assert.Contains(t, err.Error(), "code/__torch__.py:"+strconv.Itoa(line)+":")
			}
			assert.Regexp(t, regexp.MustCompile(pattern), err.Error())
		})
	}
}
