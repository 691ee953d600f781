package recording

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRecordsThatEnd before they should are errors, wherever.
func TestRecordsThatEnd(t *testing.T) {
	most := limits{text: 1000, header: 100, line: 50, events: 2, sites: 2, stacks: 2, frames: 2, inStacks: 5}
	for _, text := range []string{"", "[]", "{", `{"schema":1`, `{"schema":1,`, `{"events":`, `{"events":[`, `{"schema":1}{`} {
		r, err := decodeRecord(strings.NewReader(text), most)
		assert.Error(t, err, text)
		assert.Nil(t, r, text)
	}
}

// zipped is a text in gzip's form.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

func TestLimits(t *testing.T) {
	most := limits{text: 1000, header: 100, line: 50, events: 2, sites: 2, stacks: 2, frames: 2, inStacks: 5}
	rec := func(counts, rows string) string {
		return zipped(t, `{"rec":1,"record":{"schema":1},"actions":["alloc"],`+counts+"}\n"+rows)
	}
	const event = `{"action":"oom","key":1,"size":1}`
	for _, c := range []struct{ name, text, want string }{
		{"as many as may be", `{"schema":1,"events":[` + event + "," + event + `],"stacks":[[0,0],[0,0,0]],"frames":[{},{}]}`,
			"got where"},
		{"events", `{"events":[` + event + "," + event + "," + event + `]}`, "got more than 2 events"},
		{"stacks", `{"stacks":[[],[],[]]}`, "got more than 2 stacks"},
		{"frames", `{"frames":[{},{},{}]}`, "got more than 2 frames"},
		{"frames of stacks", `{"stacks":[[0,0,0],[0,0,0]]}`, "stack 1: got more than 5 frames in all stacks"},
		{"a stack's number", `{"events":[{"action":"oom","key":1,"size":1,"stack":2}]}`, "event 0: got stack 2, want 0 to 1"},
		{"the header", `{"case":"` + strings.Repeat("x", 40) + `","built":"` + strings.Repeat("x", 60) + `"}`,
			"built: got more than 100 bytes"},
		{"all of it", `{"case":"` + strings.Repeat("x", 1000), "got more than 1000 bytes of text"},

		{"rec: as many as may be", rec(`"frames":2,"stacks":2,"sites":2,"events":2`, "[\"\",0,\"\"]\n[\"\",0,\"\"]\n[0,0]\n"+
			"[0,0,0]\n[\"\",\"\",\"activation\",0]\n[\"\",\"\",\"activation\",0]\n[0,1,1]\n[0,1,1,2]\n"), "got where"},
		{"rec: events", rec(`"events":3`, ""), "got 3 events, want 0 to 2"},
		{"rec: sites", rec(`"sites":3`, ""), "got 3 sites, want 0 to 2"},
		{"rec: stacks", rec(`"stacks":3`, ""), "got 3 stacks, want 0 to 2"},
		{"rec: frames", rec(`"frames":3`, ""), "got 3 frames, want 0 to 2"},
		{"rec: frames of stacks", rec(`"stacks":2`, "[0,0,0]\n[0,0,0]\n"), "stack 1: got more than 5 frames in all stacks"},
		{"rec: a site's number", rec(`"events":1`, "[0,1,1,3]\n"), "event 0: got site 3 and stream 0"},
		{"rec: a line that is no text", rec(`"frames":1`, "[\"\xff\",0,\"\"]\n"), "frame 0: got a line that is no UTF-8"},
		{"rec: a line", rec(`"events":1`, "["+strings.Repeat("0", 60)+"]\n"), "event 0: got a line of more than 50 bytes"},
		{"rec: the header", rec(`"actions":["`+strings.Repeat("x", 100)+`"]`, ""), "got a line of more than 100 bytes"},
		{"rec: all of it", rec(`"events":1`, strings.Repeat("\n", 1000)), "got no event"},
	} {
		_, err := decode(strings.NewReader(c.text), most)
		require.ErrorContains(t, err, c.want, c.name)
	}
	most.line = 10_000
	_, err := decode(strings.NewReader(rec(`"events":1`, strings.Repeat(" ", 2000))), most)
	require.ErrorContains(t, err, "got more than 1000 bytes of text", "a bomb")

	// The limits in force: some twentyfold of what a large model's training step has, a bound on
	// memory all the same.
	assert.Equal(t, limits{text: 268435456, header: 67108864, line: 1048576, events: 2097152, sites: 262144,
		stacks: 1048576, frames: 1048576, inStacks: 16777216}, defaultLimits())
}

// A file that is longer than the size at which it was looked at has no hash: it is being written.
func TestHashOfALongerFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.py")
	require.NoError(t, os.WriteFile(file, []byte("abc"), 0o644))
	hash, err := hashOf(file, 2)
	require.NoError(t, err)
	assert.Empty(t, hash)
	hash, err = hashOf(file, 3)
	require.NoError(t, err)
	assert.Equal(t, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", hash)
	_, err = hashOf(file+".none", 3)
	assert.Error(t, err)
}

// A recording that cannot be read or written is an error, wherever that happens.
func TestFailingFiles(t *testing.T) {
	_, err := Decode(iotest.ErrReader(errors.New("gone")))
	assert.EqualError(t, err, "gone")
	_, err = DecodeServed([]byte(strings.Repeat("{", 1<<19)))
	assert.ErrorContains(t, err, "got 524288 objects in 524288 bytes, want at most ")
	r := &Recording{}
	r.Training = &Training{Arguments: map[string]any{"lr": math.NaN()}}
	assert.ErrorContains(t, r.Encode(io.Discard), "unsupported value: NaN")
	r.Training = nil
	random := rand.New(rand.NewPCG(1, 2))
	for what, fill := range map[string]func(){
		"frames": func() { r.Frames = append(r.Frames, Frame{File: strconv.FormatUint(random.Uint64(), 36)}) },
		"stacks": func() { r.Stacks = append(r.Stacks, []int{int(random.Int32())}) },
		"sites":  func() { r.Sites = append(r.Sites, Site{Op: strconv.FormatUint(random.Uint64(), 36)}) },
		"events": func() { r.Events = append(r.Events, Event{Key: random.Uint64()}) },
	} {
		r.Frames, r.Stacks, r.Sites, r.Events = nil, nil, nil, nil
		for range 20_000 {
			fill()
		}
		full := &once{}
		assert.ErrorIs(t, r.Encode(full), assert.AnError, what)
		assert.Equal(t, 1, full.writes, "%s: nothing is written behind an error", what)
	}
}

// once is a file on a disk that is full.
type once struct{ writes int }

func (o *once) Write([]byte) (int, error) {
	o.writes++
	return 0, assert.AnError
}

// What a recording has none of is an empty list, and the recording itself stays as it is.
func TestEmptyListsOfARecording(t *testing.T) {
	r := &Recording{}
	r.Values, r.Made = &Values{}, &Made{}
	var b bytes.Buffer
	require.NoError(t, r.Encode(&b))
	z, err := gzip.NewReader(&b)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	for _, want := range []string{`"schema":1`, `"inputs":[]`, `"phases":[]`, `"lines":[]`, `"files":[]`} {
		assert.Contains(t, string(text), want)
	}
	assert.Nil(t, r.Values.Lines)
	assert.Nil(t, r.Made.Files)
	assert.Nil(t, r.Inputs)
}

// A path is seen from a folder where both are of one kind.
func TestRelativeTo(t *testing.T) {
	for _, tt := range [][3]string{{"/a/b", "/a/c", "../c"}, {"/a", "/a/b/c", "b/c"}, {"a", "a/b", "b"},
		{"../a", "/b/c", "/b/c"}} {
		assert.Equal(t, tt[2], relativeTo(tt[0], tt[1]), tt)
	}
}
