package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A recording of real PyTorch, as testdata/conformance/README.md tells.
type recording struct {
	model    string
	settings map[string]string // dtype, autocast, cached, memory_format
	inputs   []string
	sites    []string
	streams  []*stream
}

type stream struct {
	name     string // "live.eager", "script.torchscript", …
	artifact string
	same     string
	failed   string
	peak     int64
	births   int
	remapped int
	events   []recordedEvent
}

// recordedEvent is a birth (bytes > 0) or the death of the birth of that number.
type recordedEvent struct {
	bytes int64
	birth int
	site  int
}

func (r *recording) stream(name string) *stream {
	for _, s := range r.streams {
		if s.name == name {
			return s
		}
	}
	return nil
}

// conformanceFolder holds the recordings that the device none is held against.
const conformanceFolder = "../testdata/conformance/2.15-fake-cuda"

// testdataRoot is the folder that recordings name their artifacts from.
func testdataRoot() string {
	if d := os.Getenv("MEMSPEC_CONFORMANCE"); d != "" {
		return filepath.Dir(d)
	}
	return filepath.Join("..", "testdata")
}

func recordings(t testing.TB) []*recording {
	t.Helper()
	dir := conformanceFolder
	if d := os.Getenv("MEMSPEC_CONFORMANCE"); d != "" {
		dir = d // recordings of other models, made with pyshim/tools
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no recordings in %s", dir)
	slices.Sort(files)
	out := make([]*recording, len(files))
	for i, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		out[i], err = parseRecording(string(data))
		require.NoError(t, err, f)
	}
	return out
}

func parseRecording(text string) (*recording, error) {
	r := &recording{}
	var s *stream
	inEvents := false
	births := 0
	for n, line := range strings.Split(text, "\n") {
		if line == "" {
			inEvents = false
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if inEvents && (line[0] == '+' || line[0] == '-') {
			for _, tok := range strings.Fields(line) {
				e, err := parseEvent(tok, &births)
				if err != nil {
					return nil, fmt.Errorf("line %d: %w", n+1, err)
				}
				s.events = append(s.events, e)
			}
			continue
		}
		switch word {
		case "model":
			r.model = rest
		case "setting":
			key, value, _ := strings.Cut(rest, " ")
			if r.settings == nil {
				r.settings = map[string]string{}
			}
			r.settings[key] = value
		case "input":
			r.inputs = append(r.inputs, rest)
		case "site":
			_, what, _ := strings.Cut(rest, " ")
			r.sites = append(r.sites, what)
		case "stream":
			s = &stream{name: rest}
			births = 0
			r.streams = append(r.streams, s)
		case "artifact":
			s.artifact = rest
		case "same":
			s.same = rest
		case "failed":
			s.failed = rest
		case "peak":
			s.peak, _ = strconv.ParseInt(rest, 10, 64)
		case "births":
			s.births, _ = strconv.Atoi(rest)
		case "remapped":
			s.remapped, _ = strconv.Atoi(rest)
		case "events":
			inEvents = true
		}
	}
	for _, s := range r.streams {
		if s.same != "" {
			o := r.stream(s.same)
			if o == nil {
				return nil, fmt.Errorf("stream %s: same as %s, which is not there", s.name, s.same)
			}
			s.events = o.events
		}
	}
	return r, nil
}

func parseEvent(tok string, births *int) (recordedEvent, error) {
	if tok[0] == '-' {
		k, err := strconv.Atoi(tok[1:])
		return recordedEvent{birth: k, site: -1}, err
	}
	size, site, ok := strings.Cut(tok[1:], "@")
	if !ok {
		return recordedEvent{}, fmt.Errorf("got %q, want +bytes@site", tok)
	}
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return recordedEvent{}, err
	}
	k, err := strconv.Atoi(site)
	e := recordedEvent{bytes: n, birth: *births, site: k}
	*births++
	return e, err
}
