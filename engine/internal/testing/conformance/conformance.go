// Package conformance reads recordings of what real PyTorch allocates and frees
// (testdata/conformance/README.md), and compares traces with them. It runs in tests only.
package conformance

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

// Recording is one model: its inputs, and a stream for each way in which it was run.
type Recording struct {
	Model    string
	Settings map[string]string // dtype, autocast, cached, memory_format
	Inputs   []string          // in the grammar of --input
	Sites    []string          // "operator file:line"
	Streams  []*Stream
}

// Stream is the events of one run.
type Stream struct {
	Name     string // "live.eager", "script.torchscript", …
	Artifact string // below testdata
	Failed   string // why PyTorch could not run it so
	Peak     int64
	Births   int
	Remapped int
	Events   []Event

	same string // the stream with the same events
}

// Event is a birth (Bytes > 0), or the death of the birth of that number.
type Event struct {
	Bytes int64
	Birth int
	Site  int // -1 of a death
}

// Read reads every recording of a folder, sorted by file.
func Read(t testing.TB, folder string) []*Recording {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no recordings in %s", folder)
	slices.Sort(files)
	out := make([]*Recording, len(files))
	for i, f := range files {
		out[i] = ReadFile(t, f)
	}
	return out
}

// ReadFile reads one recording.
func ReadFile(t testing.TB, file string) *Recording {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	r, err := parse(string(data))
	require.NoError(t, err, file)
	return r
}

// Stream is the stream of a name, nil where there is none.
func (r *Recording) Stream(name string) *Stream {
	for _, s := range r.Streams {
		if s.Name == name {
			return s
		}
	}
	return nil
}

func parse(text string) (*Recording, error) {
	r := &Recording{}
	var s *Stream
	inEvents := false
	births := 0
	for n, line := range strings.Split(text, "\n") {
		if line == "" {
			inEvents = false
			continue
		}
		if inEvents && (line[0] == '+' || line[0] == '-') {
			for _, tok := range strings.Fields(line) {
				e, err := parseEvent(tok, &births)
				if err != nil {
					return nil, fmt.Errorf("line %d: %w", n+1, err)
				}
				s.Events = append(s.Events, e)
			}
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "stream":
			s = &Stream{Name: rest}
			births = 0
			r.Streams = append(r.Streams, s)
		case "events":
			inEvents = true
		case "artifact", "same", "failed", "peak", "births", "remapped":
			s.set(word, rest)
		default:
			r.set(word, rest)
		}
	}
	for _, s := range r.Streams {
		if s.same != "" {
			o := r.Stream(s.same)
			if o == nil {
				return nil, fmt.Errorf("stream %s: same as %s, which is not there", s.Name, s.same)
			}
			s.Events = o.Events
		}
	}
	return r, nil
}

func (r *Recording) set(word, rest string) {
	key, value, _ := strings.Cut(rest, " ")
	switch word {
	case "model":
		r.Model = rest
	case "setting":
		if r.Settings == nil {
			r.Settings = map[string]string{}
		}
		r.Settings[key] = value
	case "input":
		r.Inputs = append(r.Inputs, rest)
	case "site":
		r.Sites = append(r.Sites, value)
	}
}

func (s *Stream) set(word, rest string) {
	switch word {
	case "artifact":
		s.Artifact = rest
	case "same":
		s.same = rest
	case "failed":
		s.Failed = rest
	case "peak":
		s.Peak, _ = strconv.ParseInt(rest, 10, 64)
	case "births":
		s.Births, _ = strconv.Atoi(rest)
	case "remapped":
		s.Remapped, _ = strconv.Atoi(rest)
	}
}

func parseEvent(tok string, births *int) (Event, error) {
	if tok[0] == '-' {
		k, err := strconv.Atoi(tok[1:])
		return Event{Birth: k, Site: -1}, err
	}
	size, site, ok := strings.Cut(tok[1:], "@")
	if !ok {
		return Event{}, fmt.Errorf("got %q, want +bytes@site", tok)
	}
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return Event{}, err
	}
	k, err := strconv.Atoi(site)
	e := Event{Bytes: n, Birth: *births, Site: k}
	*births++
	return e, err
}
