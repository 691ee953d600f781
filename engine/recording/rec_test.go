package recording_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

func plain(t *testing.T, rec []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(rec))
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(text)
}

func compressed(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.Bytes()
}

// A .rec is lines of JSON that anybody can write.
func TestRecText(t *testing.T) {
	head, rows, _ := strings.Cut(plain(t, encoded(t, training(t))), "\n")
	var h map[string]any
	require.NoError(t, json.Unmarshal([]byte(head), &h))
	assert.Equal(t, []any{"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
		"segment_unmap", "oom", "snapshot"}, h["actions"])
	assert.Equal(t, []any{1., 2., 2., 3., 8.}, []any{h["rec"], h["frames"], h["stacks"], h["sites"], h["events"]})
	assert.Equal(t, `["CUDACachingAllocator.cpp",1,"malloc"]
["model.py",7,"forward"]
[1]
[0,1]
["","","activation",1]
["","","activation",2]
["aten::mm","layers.0","gradient",2]
[3,139637976727552,20971520]
[0,0,4194204,1]
[0,4194304,4194304,2]
[1,0,4194304,2]
[2,0,4194304,2]
[0,0,3145728,2]
[1,0,3145728]
[2,0,3145728,3,5]
`, rows)
}

// What autograd saved a storage for is a site, too: of the trace's sites it has the node and the
// line.
func TestRecSaver(t *testing.T) {
	r := training(t)
	r.Sites[1].Saver = 3
	rec := encoded(t, r)
	assert.Contains(t, plain(t, rec), `["","","activation",2,3]`)
	r, err := recording.Parse(rec)
	require.NoError(t, err)
	tr, err := r.Trace()
	require.NoError(t, err)
	var got []trace.Saver
	for _, s := range tr.Sites {
		if s.Saver != (trace.Saver{}) {
			got = append(got, s.Saver)
		}
	}
	require.NotEmpty(t, got)
	assert.Equal(t, trace.Saver{Op: "aten::mm", Module: "layers.0", File: "model.py", Line: 7}, got[0])
}

func TestRecsThatAreRefused(t *testing.T) {
	whole := plain(t, encoded(t, training(t)))
	for _, c := range []struct{ name, from, to, want string }{
		{"another version", `"rec":1`, `"rec":2`, "got a recording of version 2, want 1"},
		{"no object", `{"rec"`, `["rec"`, "got no recording: "},
		{"an unknown key of the record", `"torch"`, `"torhc"`, `unknown field "torhc"`},
		{"another schema", `"schema":1`, `"schema":2`, "got no measurement record of schema 1"},
		{"an unknown action", `"snapshot"]`, `"malloc"]`, `got action "malloc", want PyTorch's word for one`},
		{"an action of ours", `"snapshot"]`, `"mark"]`, `got action "mark", want PyTorch's word for one`},
		{"too many frames", `"frames":2`, `"frames":9000000`, "got 9000000 frames, want 0 to 1048576"},
		{"fewer than none", `"sites":3,"events":8`, `"sites":3,"events":-8`, "got -8 events, want 0 to 2097152"},
		{"more events than it says", `"sites":3,"events":8`, `"sites":3,"events":7`, "got something after the last event"},
		{"fewer events than it says", `"sites":3,"events":8`, `"sites":3,"events":9`, "event 8: got the end of the file, " +
			"want a line"},
		{"a cut line", "[2,0,3145728,3,5]\n", "[2,0,3145728,3,5]", "event 7: got a line without an end"},
		{"a frame of two", `["model.py",7,"forward"]`, `["model.py",7]`, "frame 1: got 2 values, want 3"},
		{"a frame that is none", `["model.py",7,"forward"]`, `["model.py","7","forward"]`,
			"frame 1: offset 12: got a string, want a number"},
		{"a frame of nothing", `["model.py",7,"forward"]`, `7`, "frame 1: offset 0: got a number, want an array"},
		{"a stack of words", "[0,1]", `["a"]`, "stack 1: json: cannot unmarshal"},
		{"a category that is none", `"gradient"`, `"graident"`, `site 2: got category "graident"`},
		{"a site of three", `"gradient",2]`, `"gradient"]`, "site 2: got 3 values, want 4"},
		{"a site of six", `"gradient",2]`, `"gradient",2,1,1]`, "site 2: got 6 values, want 4"},
		{"a saver that is no site", `"gradient",2]`, `"gradient",2,4]`, "site 3: got saver 4 of 3, want a site that " +
			"nothing is saved for"},
		{"a saver that has one", `"activation",2]
["aten::mm","layers.0","gradient",2]`, `"activation",2,3]
["aten::mm","layers.0","gradient",2,1]`, "site 2: got saver 3 of 3, want a site that nothing is saved for"},
		{"an event of two", "[1,0,3145728]", "[1,0]", "event 6: got no event"},
		{"an event of six", "3145728,3,5]", "3145728,3,5,6]", "event 7: got no event"},
		{"an event without an end", "[1,0,3145728]", "[1,0,3145728", "event 6: got no event"},
		{"an event with more behind it", "[1,0,3145728]", "[1,0,3145728]]", "event 6: got no event"},
		{"an event of nothing", "[1,0,3145728]", "", "event 6: got no event"},
		{"an event that is open", "[1,0,3145728]", "[", "event 6: got no event"},
		{"an event with a gap", "[1,0,3145728]", "[1,,3145728]", "event 6: got no event"},
		{"an event of fractions", "[1,0,3145728]", "[1,0,1.5]", "event 6: got no event"},
		{"an action that is not listed", "[1,0,3145728]", "[9,0,3145728]", "event 6: got action 9 of 9"},
		{"an action below 0", "[1,0,3145728]", "[-1,0,3145728]", "event 6: got action -1 of 9"},
		{"a site below 0", "3145728,3,5]", "3145728,-3,5]", "event 7: got site -3 and stream 5"},
		{"a site that no list holds", "3145728,3,5]", "3145728,1048577,5]", "event 7: got site 1048577 and stream 5"},
		{"a stream below 0", "3145728,3,5]", "3145728,3,-5]", "event 7: got site 3 and stream -5"},
		{"a site that is not there", "3145728,3,5]", "3145728,4,5]", "event 7: got site 4 of 3"},
		{"a line without an end in sight", `["model.py"`, `["` + strings.Repeat("x", 1<<20) + `"`,
			"frame 1: got a line of more than 1048576 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Contains(t, whole, c.from)
			_, err := recording.Parse(compressed(strings.Replace(whole, c.from, c.to, 1)))
			require.ErrorContains(t, err, c.want)
		})
	}
	data := encoded(t, training(t))
	_, err := recording.Parse(data[:1])
	require.ErrorContains(t, err, "got no measurement record")
	_, err = recording.Parse(data[:5])
	require.ErrorContains(t, err, "got no recording: ")
	_, err = recording.Parse(data[:20])
	require.ErrorContains(t, err, "got no recording: ")
	_, err = recording.Parse(data[:len(data)-6])
	require.ErrorContains(t, err, "unexpected EOF", "the checksum is missing")
	data[len(data)-6] ^= 1
	_, err = recording.Parse(data)
	require.ErrorIs(t, err, gzip.ErrChecksum)
}

// A line that the reader's buffer does not hold is put together.
func TestLongLines(t *testing.T) {
	r := training(t)
	r.Frames[1].File = strings.Repeat("ä", 100_000) + ".py"
	got, err := recording.Parse(encoded(t, r))
	require.NoError(t, err)
	assert.Equal(t, r.Frames, got.Frames)
}

// long is a recording of n storages that come and go.
func long(n int) *recording.Recording {
	r := &recording.Recording{}
	r.Case, r.Where = "long", recording.OnPretend
	for i := range n {
		key, size := uint64(0x7f0000000000+i%977*4096), units.Bytes(512*(1+i%63))
		for _, a := range []trace.Action{trace.Alloc, trace.FreeRequested, trace.FreeCompleted} {
			r.Events = append(r.Events, recording.Event{Action: a, Key: key, Size: size, Site: 1 + i%200})
		}
	}
	for i := range 200 {
		r.Sites = append(r.Sites, recording.Site{Op: "aten::mm", Module: "layers." + strings.Repeat("x", i%9),
			Stack: 1 + i%50})
	}
	for i := range 50 {
		r.Stacks, r.Frames = append(r.Stacks, []int{i}), append(r.Frames, recording.Frame{File: "model.py", Line: i})
	}
	zero := units.Bytes(0)
	for _, name := range []string{recording.Baseline, recording.First, recording.Steady} {
		r.Passes = append(r.Passes, recording.Pass{Name: name, Allocated: &zero, Reserved: &zero, Active: &zero,
			InactiveSplit: &zero, Events: len(r.Events)})
	}
	return r
}

func BenchmarkParse(b *testing.B) {
	r := long(3333)
	var rec bytes.Buffer
	require.NoError(b, r.Encode(&rec))
	text, err := json.Marshal(r)
	require.NoError(b, err)
	for name, data := range map[string][]byte{"rec": rec.Bytes(), "json": text} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := recording.Parse(data); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(data)), "bytes")
		})
	}
}

// FuzzDecode: what is read is checked, makes a trace or says why not, and is itself again when it
// is written and read.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"small", "oom", "cpu"} {
		data, err := recording.Read(records + "/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		if data.Where.Allocator() {
			data.Mode, data.Training = "training", &recording.Training{Arguments: map[string]any{"lr": 0.1}, Accumulate: 1,
				Iterations: 2}
			data.Made = &recording.Made{Files: []recording.File{{Path: "a.py", SHA256: strings.Repeat("0", 64)}},
				Parameters: []any{"x"}, Versions: map[string]string{"torch": "2"}}
		}
		text, _ := json.Marshal(data)
		f.Add(text, false)
		var rec bytes.Buffer
		_ = data.Encode(&rec)
		z, _ := gzip.NewReader(&rec)
		plain, _ := io.ReadAll(z)
		f.Add(plain, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, rec bool) {
		if rec {
			data = compressed(string(data))
		}
		r, err := recording.Parse(data)
		if err != nil {
			return
		}
		if tr, err := r.Trace(); err == nil {
			if err := tr.Validate(); err != nil {
				t.Fatalf("its trace: %v", err)
			}
		}
		var b bytes.Buffer
		if err := r.Encode(&b); err != nil {
			t.Fatal(err)
		}
		again, err := recording.Parse(b.Bytes())
		if err != nil {
			t.Fatalf("written and read: %v", err)
		}
		if d := cmp.Diff(r, again, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("written and read is another: %s", d)
		}
	})
}
