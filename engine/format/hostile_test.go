package format_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/format"
)

// hostileCases are those of testdata/hostile.txtar.
func hostileCases(t testing.TB) []*format.Case { return archiveCases(t, "testdata/hostile.txtar") }

func archiveCases(t testing.TB, path string) []*format.Case {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	section := func(name string) []byte {
		for _, f := range txtar.Parse(text).Files {
			if f.Name == name {
				return f.Data
			}
		}
		t.Fatalf("%s: got no section %s", path, name)
		return nil
	}
	return readCases(t, section("cases.json"), section)
}

func TestHostileNamesInXML(t *testing.T) {
	d := xml.NewDecoder(bytes.NewReader(write(t, named(t, "junit"), format.Options{}, hostileCases(t)...)))
	elements := map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok {
			elements[e.Name.Local]++
		}
	}
	delete(elements, "property")
	assert.Equal(t, map[string]int{"testsuites": 1, "testsuite": 1, "testcase": 3, "properties": 3, "failure": 1,
		"error": 1, "system-out": 1}, elements)
}

// The runner reads a command wherever a line begins with two colons or with ##[, blanks before it
// or not, until it is asked to stop.
func TestHostileNamesInAnnotations(t *testing.T) {
	got := string(write(t, named(t, "github"), format.Options{}, hostileCases(t)...))
	var commands []string
	token := ""
	for line := range strings.Lines(got) {
		line = strings.TrimSuffix(line, "\n")
		command := regexp.MustCompile(`^\s*::([a-z-]+)|^##\[`).FindStringSubmatch(line)
		switch {
		case token != "" && line == "::"+token+"::":
			token = ""
		case token != "" || command == nil:
		case command[1] == "stop-commands":
			token = strings.TrimPrefix(line, "::stop-commands::")
			commands = append(commands, "stop")
		default:
			commands = append(commands, command[1])
			if properties, _, isError := strings.Cut(strings.TrimPrefix(line, "::error "), "::"); isError &&
				command[1] == "error" {
				assert.Len(t, strings.Split(properties, ","), 3, "file, line and title: %s", line)
			}
		}
	}
	assert.Empty(t, token, "the runner listens again")
	assert.Equal(t, []string{"stop", "error", "error", "notice"}, commands)
}

func TestHostileNamesInMarkdown(t *testing.T) {
	got := string(write(t, named(t, "markdown"), format.Options{}, hostileCases(t)...))
	fence := ""
	for line := range strings.Lines(got) {
		line = strings.TrimSuffix(line, "\n")
		if begin := regexp.MustCompile("^(```+)text$").FindStringSubmatch(line); fence == "" && begin != nil {
			fence = begin[1]
			continue
		}
		if fence != "" {
			if line == fence {
				fence = ""
			}
			continue
		}
		spans := outsideCode(line)
		assert.NotRegexp(t, `<(script|img)|@|\]\(|#1`, spans, "outside code: %s", line)
		if strings.HasPrefix(line, "|") {
			assert.Regexp(t, `^\|([^|]*\|)+$`, strings.ReplaceAll(line, `\|`, ""), "a row")
			assert.Equal(t, 6, strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")-1, "cells of %s", line)
		}
	}
	assert.Empty(t, fence, "every code block is closed")
}

// outsideCode is a line without its code spans and without what <code> holds.
func outsideCode(line string) string {
	line = regexp.MustCompile(`<code>[^<]*</code>`).ReplaceAllString(line, "")
	for {
		begin := strings.IndexByte(line, '`')
		if begin < 0 {
			return line
		}
		n := len(line[begin:]) - len(strings.TrimLeft(line[begin:], "`"))
		end := regexp.MustCompile("(^|[^`])`{" + string(rune('0'+n)) + "}([^`]|$)").FindStringIndex(line[begin+n:])
		if end == nil {
			return line
		}
		line = line[:begin] + strings.TrimLeft(line[begin+n+end[0]:][1:], "`")
	}
}

func TestHostileNamesInCSV(t *testing.T) {
	rows, err := csv.NewReader(bytes.NewReader(write(t, named(t, "csv"), format.Options{}, hostileCases(t)...))).ReadAll()
	require.NoError(t, err)
	for _, row := range rows {
		for _, cell := range row {
			assert.NotRegexp(t, "^[=+@\t]|^-[^0-9]", cell, "a spreadsheet takes it for a formula")
			assert.NotContains(t, cell, "\n")
		}
	}
}

func TestHostileNamesInJSON(t *testing.T) {
	for _, name := range []string{"sarif", "perfetto"} {
		var v any
		require.NoError(t, json.Unmarshal(write(t, named(t, name), format.Options{Version: "\"}"}, hostileCases(t)...), &v),
			name)
	}
}

// A name never spans lines and never turns the direction of writing, in any format for people.
func TestHostileNamesStayOnTheirLine(t *testing.T) {
	for _, name := range []string{"junit", "sarif", "github", "markdown", "csv"} {
		got := string(write(t, named(t, name), format.Options{}, hostileCases(t)[:2]...))
		assert.NotRegexp(t, "[\u202e\x1b]", got, name)
		assert.NotRegexp(t, `(?m)^(::error file=x|##\[)`, strings.SplitN(got, "::error ", 2)[0], name)
	}
}
