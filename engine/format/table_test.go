package format_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/format"
)

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range format.Formats() {
		assert.Regexp(t, regexp.MustCompile(`^[a-z]+$`), f.Name)
		assert.NotEmpty(t, f.Doc)
		for _, name := range append([]string{f.Name}, f.Endings...) {
			assert.False(t, seen[name], "%s is there twice", name)
			seen[name] = true
		}
		for _, e := range f.Endings {
			got, ok := format.ByFile(format.Formats(), "dir.json/Report"+e)
			require.True(t, ok, e)
			assert.Equal(t, f.Name, got.Name, e)
		}
	}
	assert.Equal(t, "text", format.Formats()[0].Name, "the default")
	assert.Equal(t, []string{"text", "json"}, format.Names(format.Formats())[:2])
}

func TestByFile(t *testing.T) {
	for _, tt := range []struct{ path, want string }{
		{"a.json", "json"}, {"a.sarif.json", "sarif"}, {"a.trace.json", "perfetto"}, {"A.JSON", "json"},
		{"x/profile.pb.gz", "pprof"},
		{"a.gz", ""}, {"json", ""}, {".json", ""}, {"a.json/b", ""}, {"", ""},
	} {
		got, ok := format.ByFile(format.Formats(), tt.path)
		assert.Equal(t, tt.want, got.Name, tt.path)
		assert.Equal(t, tt.want != "", ok, tt.path)
	}
}

// A command offers what it can fill.
func TestOffered(t *testing.T) {
	assert.Equal(t, []string{"text", "json", "markdown", "html", "csv"}, format.Names(format.Offered(0)))
	assert.Contains(t, format.Names(format.Offered(format.Verdicts)), "junit")
	assert.NotContains(t, format.Names(format.Offered(format.Verdicts)), "snapshot")
	assert.Equal(t, format.Names(format.Formats()), format.Names(format.Offered(format.Verdicts|format.Timelines)))
}

// broken takes so many bytes and no more.
type broken struct{ left int }

var errFull = errors.New("no space left on device")

func (b *broken) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return b.left, errFull
	}
	b.left -= len(p)
	return len(p), nil
}

// A disk that fills up is reported, wherever in the document it does.
func TestFullDisk(t *testing.T) {
	cases := archiveCases(t, "testdata/small.txtar")[:1]
	for _, f := range format.Formats() {
		size := len(write(t, f, format.Options{}, cases...))
		for _, room := range []int{0, size / 2, size - 1} {
			w := f.New(&broken{room}, format.Options{})
			err := w.Case(cases[0])
			if err == nil {
				err = w.End(&format.Summary{JSON: map[string]int{"cases": 1}, Text: func(w io.Writer) error {
					_, err := w.Write([]byte("1 cases\n"))
					return err
				}})
			}
			assert.ErrorIs(t, err, errFull, "%s, %d of %d bytes", f.Name, room, size)
		}
		var b bytes.Buffer
		w := f.New(&b, format.Options{})
		require.NoError(t, w.End(&format.Summary{}), "%s of no case", f.Name)
	}
}

// TestNoCase: a document without cases is whole: a table has its head, JSON is JSON.
func TestNoCase(t *testing.T) {
	of := map[string]string{}
	for _, f := range format.Formats() {
		var b bytes.Buffer
		require.NoError(t, f.New(&b, format.Options{}).End(&format.Summary{JSON: map[string]int{"cases": 0}}), f.Name)
		of[f.Name] = b.String()
	}
	for _, name := range []string{"json", "perfetto", "sarif"} {
		require.Contains(t, of, name)
		assert.True(t, json.Valid([]byte(of[name])), "%s: %s", name, of[name])
	}
	assert.True(t, strings.HasPrefix(of["csv"], "spec,case,outcome,artifact,"), of["csv"])
}

// TestEndings: the names' ends of files, as the formats come.
func TestEndings(t *testing.T) {
	var want []string
	for _, f := range format.Formats() {
		want = append(want, f.Endings...)
	}
	assert.Equal(t, want, format.Endings(format.Formats()))
	assert.Equal(t, ".txt", want[0])
}

// TestTextThatFails: what a case or the end says in words may fail; a format that has these words
// then fails too, the others do not ask.
func TestTextThatFails(t *testing.T) {
	fails := func(io.Writer) error { return errFull }
	c := *archiveCases(t, "testdata/small.txtar")[0]
	c.Text = fails
	ofCases, ofEnds := map[string]bool{}, map[string]bool{}
	for _, f := range format.Formats() {
		ofCases[f.Name] = f.New(io.Discard, format.Options{}).Case(&c) != nil
		ofEnds[f.Name] = f.New(io.Discard, format.Options{}).End(&format.Summary{Text: fails}) != nil
	}
	with := func(names ...string) map[string]bool {
		out := map[string]bool{}
		for _, f := range format.Formats() {
			out[f.Name] = false
		}
		for _, name := range names {
			out[name] = true
		}
		return out
	}
	assert.Equal(t, with("text", "github"), ofCases)
	assert.Equal(t, with("text", "github"), ofEnds)
}
