package recording_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

const records = "testdata/records"

func text(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(records, name+".json"))
	require.NoError(t, err)
	return data
}

func record(t *testing.T, name string) *recording.Recording {
	t.Helper()
	r, err := recording.Read(filepath.Join(records, name+".json"))
	require.NoError(t, err)
	return r
}

// The records here, and what Go writes of them, are of the shim's own schema.
func TestRecordsKeepTheSchema(t *testing.T) {
	const file = "../../pyshim/src/memshim/schemas/measurement.schema.json"
	schema, err := jsonschema.NewCompiler().Compile(file)
	require.NoError(t, err)
	for _, name := range []string{"small", "oom", "cpu"} {
		data := text(t, name)
		written, err := json.Marshal(record(t, name))
		require.NoError(t, err)
		for what, text := range map[string][]byte{"file": data, "written by Go": written} {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			require.NoError(t, err)
			assert.NoError(t, schema.Validate(v), "%s %s", name, what)
		}
		assert.JSONEq(t, string(data), string(written), "%s: read and written is the same", name)
	}
	empty := &recording.Recording{}
	written, err := json.Marshal(empty)
	require.NoError(t, err)
	for _, none := range []string{`"schema":1,`, `"inputs":[]`, `"phases":[]`, `"events":[]`, `"stacks":[]`,
		`"frames":[]`} {
		assert.Contains(t, string(written), none, "no list is null")
	}
}

func TestRecordsThatAreRefused(t *testing.T) {
	for _, c := range []struct{ name, of, from, to, want string }{
		{"no JSON", "small", `"schema"`, `schema`, "got no measurement record: "},
		{"a list", "small", "{\n", "[{\n", "got no measurement record: got [, want an object"},
		{"cut short", "small", `"frames": [`, "", "got no measurement record: "},
		{"another schema", "small", `"schema": 1`, `"schema": 2`, "got no measurement record of schema 1"},
		{"no schema", "small", `"schema": 1,`, ``, "got no measurement record of schema 1"},
		{"an unknown key", "small", `"torch":`, `"torhc":`, `unknown field "torhc"`},
		{"an unknown key of an event", "small", `"key":139637976727552,"size":20971520`, `"kye":1,"size":1`,
			`event 0: json: unknown field "kye"`},
		{"a key twice", "small", `"torch":`, `"cuda": "13.0", "torch":`, `got "cuda" twice`},
		{"events that are no list", "small", `"events": [`, `"events": 7, "more": [`, "got 7, want a list of events"},
		{"something behind it", "small", "\n}\n", "\n}\n{}", "got something after the record"},
		{"an unknown place", "small", `"where": "cuda"`, `"where": "tpu"`, `got where "tpu", want cuda, pretend or cpu`},
		{"no case", "small", `"case": "small[B=2]"`, `"case": ""`, "got no case"},
		{"no phase", "oom",
			`{"name":"baseline","requested":4194204,"allocated":4194304,"reserved":20971520,"active":4194304,"inactive_split":16777216,"events":0}`, "",
			"got 0 phases, want 1 to 1000"},
		{"an unknown phase", "small", `"name":"first"`, `"name":"second"`, `phase 1: got "second", want first`},
		{"a run without its end", "oom", `"oom": {"phase": "first", "text": "CUDA out of memory."}`, `"oom": null`,
			"got 1 phases of a run that came to its end, want 3"},
		{"memory that ended too late", "oom", `"oom": {"phase": "first"`, `"oom": {"phase": "steady"`,
			`got oom in phase "steady", want the last or the one that came next: first`},
		{"more asked for than there is a number for", "oom", `"text": "CUDA out of memory."`, `"text": "", "requested": -1`,
			"got a size below 0"},
		{"who held less than nothing", "oom", `"text": "CUDA out of memory."`,
			`"text": "", "held": [{"bytes": -5, "count": 1, "file": "", "line": 0, "function": ""}]`,
			"got a size below 0"},
		{"weights below 0", "small", `"weights": 3145728`, `"weights": -1`, "got a size below 0"},
		{"page-locked memory below 0", "small", `"weights": 3145728`, `"weights": 3145728, "host_pinned": -1`,
			"got host_pinned of -1 B, want a size"},
		{"a context below 0", "small", `"context": 314572800`, `"context": -1`, "got a size below 0"},
		{"communicators below 0", "small", `"context": 314572800`,
			`"context": 1, "nccl": {"low": -1, "high": 1, "communicators": 1}`, "got nccl of -1 to 1 B of 1 communicators, " +
				"want sizes in order"},
		{"communicators that take less at most", "small", `"context": 314572800`,
			`"context": 1, "nccl": {"low": 2, "high": 1, "communicators": 1}`, "got nccl of 2 to 1 B"},
		{"a size below 0", "small", `"allocated":8388608`, `"allocated":-1`, "phase 1: got a size below 0"},
		{"a request below 0", "small", `"requested":8388508`, `"requested":-1`, "phase 1: got a size below 0"},
		{"no number on CUDA", "small", `"allocated":8388608`, `"allocated":null`, "phase 1: got no number of the allocator " +
			"in a record on CUDA"},
		{"a number on CPU", "cpu", `"allocated":null`, `"allocated":1`, "phase 0: got an allocator's number in a record on " +
			"CPU tensors"},
		{"events that are not there", "small", `"events":5}`, `"events":50}`, "phase 1: got it ended by event 50 of 8"},
		{"events that go back", "small", `"events":5}`, `"events":1}`, "phase 1: got it ended by event 1 of 8"},
		{"events before the first", "small", `"events":2}`, `"events":-1}`, "phase 0: got it ended by event -1 of 8"},
		{"an unknown action", "small", `"action":"segment_alloc"`, `"action":"malloc"`,
			`event 0: got action "malloc", want PyTorch's word for one`},
		{"an action of ours", "small", `"action":"segment_alloc"`, `"action":"empty_cache"`,
			`event 0: got action "empty_cache", want PyTorch's word for one`},
		{"an event's size below 0", "small", `"size":20971520`, `"size":-1`, "event 0: got a size below 0"},
		{"a stack that is not there", "small", `"stack":0`, `"stack":9`, "site 1: got stack 10 of 2"},
		{"a stack below 0", "small", `"stack":0`, `"stack":-1`, "event 1: got stack -1, want 0 to 1048575"},
		{"a frame that is not there", "small", `[0,1]`, `[0,7]`, "stack 1: got frame 7 of 2"},
		{"a frame below 0", "small", `[0,1]`, `[-1]`, "stack 1: got frame -1 of 2"},
		{"a part without a name", "small", `"events":5}`, `"events":5,"phases":[{"name":"load","events":3}]}`,
			`phase 1: part 0: got "load", want forward, backward or step`},
		{"a part before the pass", "small", `"events":5}`, `"events":5,"phases":[{"name":"forward","events":1}]}`,
			`phase 1: part 0: got it begun by event 1, want 2 to 5`},
		{"parts that go back", "small", `"events":5}`,
			`"events":5,"phases":[{"name":"forward","events":4},{"name":"step","events":3}]}`,
			`phase 1: part 1: got it begun by event 3, want 4 to 5`},
		{"a part after the pass", "small", `"events":5}`, `"events":5,"phases":[{"name":"forward","events":6}]}`,
			`phase 1: part 0: got it begun by event 6, want 2 to 5`},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := text(t, c.of)
			require.Contains(t, string(data), c.from)
			_, err := recording.Parse(bytes.Replace(data, []byte(c.from), []byte(c.to), 1))
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := recording.Parse(nil)
	require.EqualError(t, err, "got no measurement record: EOF")
	_, err = recording.Parse([]byte("{}"))
	require.EqualError(t, err, "got no measurement record of schema 1")
}

func TestMoreThanThreePasses(t *testing.T) {
	r := record(t, "small")
	r.Where, r.Mode = recording.OnPretend, "training"
	r.Passes = append(r.Passes, r.Passes[2])
	require.NoError(t, r.Check(), "a training run has as many iterations as it likes")
	r.Passes[3].Name = recording.First
	require.EqualError(t, r.Check(), `phase 3: got "first", want steady`)
	for len(r.Passes) <= 1000 {
		r.Passes = append(r.Passes, r.Passes[2])
	}
	require.EqualError(t, r.Check(), "got 1001 phases, want 1 to 1000")
}

func TestRowsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*recording.Recording)
		want   string
	}{
		{func(r *recording.Recording) { r.Events[2].Action = trace.EmptyCache }, "event 2: got action empty_cache, which " +
			"no allocator records"},
		{func(r *recording.Recording) { r.Events[2].Site = -1 }, "event 2: got site -1 of 2"},
		{func(r *recording.Recording) { r.Events[2].Site = 3 }, "event 2: got site 3 of 2"},
		{func(r *recording.Recording) { r.Sites[1].Stack = -1 }, "site 2: got stack -1 of 2"},
		{func(r *recording.Recording) { r.Sites[1].Category = tensor.Untraced + 1 }, "site 2: got category 10"},
		{func(r *recording.Recording) {
			r.Mode, r.Training = "training", &recording.Training{Accumulate: 1, Iterations: 1}
		}, "training: got accumulate 1 and iterations 1, want at least 1 and 2"},
		{func(r *recording.Recording) { r.Device.Asked = []string{"all"} }, `device: got asked ["all"], want memory or name`},
		{func(r *recording.Recording) { r.NCCL = &recording.NCCL{Communicators: -1} },
			"got nccl of 0 to 0 B of -1 communicators, want sizes in order"},
		{func(r *recording.Recording) { r.Device.SMs = -1 }, "got fewer than 0 multiprocessors"},
		{func(r *recording.Recording) { r.Training = &recording.Training{Accumulate: 1, Iterations: 2} },
			`got a training step of a run of mode "inference"`},
		{func(r *recording.Recording) {
			r.Mode, r.Training = "training", &recording.Training{Accumulate: 0, Iterations: 1}
		}, "training: got accumulate 0 and iterations 1, want at least 1 and 2"},
		{func(r *recording.Recording) {
			r.Made = &recording.Made{Files: []recording.File{{Path: "/etc/passwd", SHA256: strings.Repeat("0", 64)}}}
		}, `made: file 0: got path "/etc/passwd", want one relative to the folder, with slashes`},
	} {
		r := record(t, "small")
		c.change(r)
		require.EqualError(t, r.Check(), c.want)
	}
	nothing := units.Bytes(0)
	for _, change := range []func(*recording.Recording){
		func(r *recording.Recording) { r.NCCL = &recording.NCCL{} },
		func(r *recording.Recording) { r.NCCL = &recording.NCCL{Low: 5, High: 5, Communicators: 1} },
		func(r *recording.Recording) {
			r.Mode, r.Training = "training", &recording.Training{Accumulate: 1, Iterations: 2}
		},
		func(r *recording.Recording) {
			r.OOM = &recording.OutOfMemory{Pass: recording.Steady, Requested: &nothing, Free: &nothing,
				Held: []recording.Held{{}}}
		},
	} {
		r := record(t, "small")
		change(r)
		require.NoError(t, r.Check(), "nothing is a size, too")
	}
	for _, h := range []recording.Held{{Bytes: -1}, {Count: -1}, {Line: -1}} {
		r := record(t, "small")
		r.OOM = &recording.OutOfMemory{Pass: recording.Steady, Held: []recording.Held{{}, h}}
		require.EqualError(t, r.Check(), "got a size below 0")
	}
}

func TestPasses(t *testing.T) {
	r := record(t, "small")
	assert.Equal(t, 7340032*units.Bytes(1), *r.Pass(recording.Steady).Allocated)
	assert.Nil(t, r.Pass("second"))
	peak, ok := r.Peak(func(p *recording.Pass) *units.Bytes { return p.Allocated })
	assert.True(t, ok)
	assert.Equal(t, 8*units.MiB, peak, "of the first pass, which is not the last")
	_, ok = record(t, "cpu").Peak(func(p *recording.Pass) *units.Bytes { return p.Allocated })
	assert.False(t, ok)
	_, ok = (&recording.Recording{}).Peak(func(p *recording.Pass) *units.Bytes { return p.Allocated })
	assert.False(t, ok, "no pass, no peak")
}

func TestEventsAreATrace(t *testing.T) {
	for _, name := range []string{"small", "cpu"} {
		tr, err := record(t, name).Trace()
		require.NoError(t, err)
		require.NoError(t, tr.Validate())
		var text []string
		for i, e := range tr.Events {
			if trace.Memory(tr, &e) {
				text = append(text, tr.EventText(i))
			}
		}
		assert.Len(t, text, 5, "%s: %v", name, text)
		assert.Equal(t, []int{0, 1, 2}, passes(tr))
		assert.Equal(t, "measurement of small[B=2]", tr.Origin)
		assert.Equal(t, trace.FirstAndSteady(), tr.Passes)
	}
	small, err := record(t, "small").Trace()
	require.NoError(t, err)
	cpu, err := record(t, "cpu").Trace()
	require.NoError(t, err)
	assert.Nil(t, trace.Align(small, cpu, trace.Memory), "the same storages, whoever made them")
	assert.Equal(t, uint64(139637976727552), small.Events[1].Addr)
	assert.Zero(t, cpu.Events[0].Addr, "the number of a storage is no address")
	site := small.Site(small.Events[2].Site)
	assert.Equal(t, trace.Site{Op: "forward", File: "model.py", Line: 7, Phase: trace.Forward, Category: tensor.Untraced},
		site, "the innermost frame of Python, not the allocator's own")
	assert.Equal(t, trace.Site{Op: "forward", File: "model.py", Line: 7, Phase: trace.Load, Category: tensor.Untraced},
		small.Site(small.Events[1].Site))

	r := record(t, "small")
	r.Events[5].Size = 2 * units.MiB
	other, err := r.Trace()
	require.NoError(t, err)
	d := trace.Align(small, other, trace.Memory)
	require.NotNil(t, d)
	assert.Equal(t, "the sizes differ", d.Why)
}

func TestEventsThatContradictEachOther(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*recording.Recording)
		want   string
	}{
		{"an address that is not free", func(r *recording.Recording) {
			r.Events[2].Key = r.Events[1].Key
		}, "event 2: got an alloc at 0x7f0000000000, which is not free"},
		{"a free twice", func(r *recording.Recording) { r.Events[4].Action = trace.FreeRequested },
			"event 4: got free_requested of 0x7f0000400000, want one free_requested and then one free_completed"},
		{"completed before it is requested", func(r *recording.Recording) { r.Events[3].Action = trace.FreeCompleted },
			"event 3: got free_completed of 0x7f0000400000, want one free_requested and then one free_completed"},
	} {
		r := record(t, "small")
		c.change(r)
		_, err := r.Trace()
		require.EqualError(t, err, c.want, c.name)
		_, _, err = r.Replayable()
		require.EqualError(t, err, c.want, c.name)
	}
}

// What comes before the first free of something that was there already, and what is no memory of
// this recording, a replay cannot follow.
func TestReplayable(t *testing.T) {
	r := record(t, "small")
	before := []recording.Event{{Action: trace.FreeRequested, Key: 512, Size: 1}, {Action: trace.FreeCompleted, Key: 512,
		Size: 1}, {Action: trace.OOM, Key: 7, Size: 1},
		{Action: trace.Snapshot, Size: 1}}
	r.Events = append(before, r.Events...)
	tr, skipped, err := r.Replayable()
	require.NoError(t, err)
	assert.Equal(t, 4, skipped)
	assert.Len(t, tr.Events, 8)
	whole, err := r.Trace()
	require.NoError(t, err)
	assert.Equal(t, trace.NoStorage, whole.Events[0].Storage)
	assert.Zero(t, whole.Events[2].Addr, "what an OOM gives is no address")
}

func TestPassesOfEvents(t *testing.T) {
	r := record(t, "small")
	r.Passes[2].Events = 6
	tr, err := r.Trace()
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1, 2}, passes(tr), "what comes after the last pass is its own")

	r = record(t, "small")
	r.Passes = r.Passes[:2]
	r.OOM = &recording.OutOfMemory{Pass: recording.Steady}
	require.NoError(t, r.Check())
	tr, err = r.Trace()
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1, 2}, passes(tr), "the pass that memory ran out in")
	assert.Equal(t, "steady", tr.PassName(2))
	assert.False(t, r.Stopped(&r.Passes[1]), "the first came to its end")

	r = record(t, "small")
	r.Passes = r.Passes[:2]
	r.Passes[1].Events = len(r.Events)
	r.OOM = &recording.OutOfMemory{Pass: recording.First}
	require.NoError(t, r.Check(), "the pass that memory ran out in is reported with the peaks that it reached")
	assert.True(t, r.Stopped(&r.Passes[1]))
	assert.False(t, r.Stopped(&r.Passes[0]))
	tr, err = r.Trace()
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1}, passes(tr))

	r = record(t, "small")
	r.Passes[2].Phases = []recording.Phase{{Name: "forward", Events: 5}, {Name: "backward", Events: 6},
		{Name: "step", Events: 7}}
	require.NoError(t, r.Check())
	tr, err = r.Trace()
	require.NoError(t, err)
	var phases []string
	for _, e := range tr.Events {
		phases = append(phases, tr.Site(e.Site).Phase.String())
	}
	assert.Equal(t, "load load forward forward forward forward backward step", strings.Join(phases, " "))
}

// The line is the user's: not PyTorch's, also where its files are distinguished from the folder of
// packages on.
func TestUserLines(t *testing.T) {
	for _, c := range []struct {
		files []string
		want  string
	}{
		{[]string{"CUDACachingAllocator.cpp", "torch/nn/modules/conv.py", "net.py", "train.py"}, "net.py"},
		{[]string{"/env/site-packages/torch/nn/modules/conv.py", "net.py"}, "net.py"},
		{[]string{"a.cpp", "torch/_inductor/x.py"}, "torch/_inductor/x.py"},
		{[]string{"a.cpp", "b.cpp"}, "a.cpp"},
		{nil, ""},
	} {
		r := record(t, "small")
		r.Frames, r.Stacks = nil, [][]int{{}, {}}
		for i, f := range c.files {
			r.Frames = append(r.Frames, recording.Frame{File: f, Line: i + 1})
			r.Stacks[1] = append(r.Stacks[1], i)
		}
		tr, err := r.Trace()
		require.NoError(t, err)
		assert.Equal(t, c.want, tr.Site(tr.Events[2].Site).File)
	}
}

func passes(tr *trace.Trace) []int {
	var out []int
	for _, e := range tr.Events {
		if len(out) == 0 || out[len(out)-1] != e.Pass {
			out = append(out, e.Pass)
		}
	}
	return out
}

func TestFoldersAreReadByName(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{"b.json": text(t, "cpu"), "a.rec": encoded(t, record(t, "small")),
		".hidden.json": {}, "notes.txt": {}, "sub/c.json": {}} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.json"), 0o755))
	got, err := recording.ReadFolder(dir)
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.Equal(t, []string{filepath.Join(dir, "a.rec"), filepath.Join(dir, "b.json")},
		[]string{got[0].File, got[1].File})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.json"), []byte("{}"), 0o644))
	_, err = recording.ReadFolder(dir)
	require.EqualError(t, err, filepath.Join(dir, "a.json")+": got no measurement record of schema 1")
	_, err = recording.ReadFolder(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = recording.Read(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func encoded(t *testing.T, r *recording.Recording) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, r.Encode(&b))
	return b.Bytes()
}

// training is a recording with everything that a .rec can hold.
func training(t *testing.T) *recording.Recording {
	r := record(t, "small")
	r.Where, r.Mode = recording.OnPretend, "training"
	r.Passes[1].Phases = []recording.Phase{{Name: "forward", Events: 2}, {Name: "backward", Events: 4},
		{Name: "step", Events: 5}}
	r.Notes = []recording.Note{{ID: "value-read", Text: "item", File: "model.py", Line: 9}}
	r.Device.SMs = 40
	r.Training = &recording.Training{Optimizer: "AdamW", Arguments: map[string]any{"fused": true}, Loss: "mean",
		Accumulate: 2, Clip: new(1.5),
		Checkpoint: &recording.Checkpoint{Modules: []string{"layers.*"}}, Iterations: 3}
	r.Made = &recording.Made{Files: []recording.File{{Path: "../zoo.py", SHA256: strings.Repeat("ab", 32)}},
		Versions: map[string]string{"torch": "2.15.0"},
		Command:  []string{"python", "-m", "memshim", "capture", "memspec.yaml"}}
	r.Sites = append(r.Sites, recording.Site{Op: "aten::mm", Module: "layers.0", Category: tensor.Gradient, Stack: 2})
	r.Events[7].Site, r.Events[7].Stream = 3, 5
	require.NoError(t, r.Check())
	return r
}

func TestRec(t *testing.T) {
	for name, want := range map[string]*recording.Recording{"small": record(t, "small"), "oom": record(t, "oom"),
		"cpu": record(t, "cpu"), "training": training(t)} {
		data := encoded(t, want)
		assert.True(t, recording.IsRec(data))
		assert.Equal(t, data, encoded(t, want), "%s: the same bytes each time", name)
		got, err := recording.Parse(data)
		require.NoError(t, err, name)
		want.File = ""
		assert.Empty(t, cmp.Diff(want, got), name)
	}
	assert.False(t, recording.IsRec(text(t, "small")))
}

// A request that ended the run is asked for again on another device, and one that a program
// survived fails again; a replay of what was recorded leaves both out.
func TestTheLastRequest(t *testing.T) {
	r := record(t, "small")
	n := len(r.Events)
	r.Events = append(r.Events, recording.Event{Action: trace.OOM, Key: 512, Size: 1024})
	r.Passes[2].Events = n + 1
	for _, tt := range []struct {
		oom            *recording.OutOfMemory
		read           func() (*trace.Trace, int, error)
		want, survived bool
	}{
		{nil, r.Replayable, false, false}, {nil, r.Asked, false, true},
		{&recording.OutOfMemory{Pass: recording.Steady}, r.Replayable, false, false},
		{&recording.OutOfMemory{Pass: recording.Steady}, r.Asked, true, false},
	} {
		r.OOM = tt.oom
		tr, _, err := tt.read()
		require.NoError(t, err)
		require.NoError(t, tr.Validate())
		last := tr.Events[len(tr.Events)-1]
		assert.Equal(t, tt.want, last.Action == trace.Alloc && last.Bytes == 1024, "%v", tt.oom)
		assert.Equal(t, tt.survived, last.Action == trace.OOM && last.Bytes == 1024, "%v", tt.oom)
		if tt.want {
			most := trace.NoStorage
			for _, e := range tr.Events[:len(tr.Events)-1] {
				most = max(most, e.Storage)
			}
			assert.Equal(t, most+1, last.Storage, "the next one")
		}
	}
}
