package trace_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/tracetext"
	. "github.com/memspec/memspec/engine/trace"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

func TestPassName(t *testing.T) {
	tr := &Trace{Passes: []Pass{{"first"}, {}, {"last"}}}
	for pass, want := range map[int]string{-1: "", 0: "", 1: "first", 2: "pass 2", 3: "last", 4: "pass 4"} {
		assert.Equal(t, want, tr.PassName(pass), pass)
	}
	assert.Equal(t, []Pass{{"first"}, {"steady"}}, FirstAndSteady())
}

// TestSiteOfNumber: numbers without a site, those behind the last one among them, are nowhere.
func TestSiteOfNumber(t *testing.T) {
	tr := &Trace{Sites: []Site{{Op: "a"}, {Op: "b"}}}
	for id, want := range map[SiteID]string{NoSite: "", 0: "a", 1: "b", 2: "", 3: ""} {
		assert.Equal(t, Site{Op: want}, tr.Site(id), id)
	}
}

func TestText(t *testing.T) {
	text := `origin "fake cuda"
passes first "iteration 2"
heap 0x7f0000000000 2MiB small stream=3
block 512 active_allocated a requested=400
block 2096640 inactive
heap 0x7f1000000000 20MiB expandable private=1.2
block 20MiB active_awaiting_free b requested=19MiB
c = alloc 9408 parameter conv1.weight layer1
pass 1 load
d = alloc 0
pass 1 forward
e = alloc 4MiB activation aten::relu layer1.0 "my model.py:7" stream=3 addr=0x7f00
f = alloc 3 workspace - - x.py:1
mark "the middle"
mark end activation end layer1
free c
free e at temporary aten::add - y.py:-1 stream=0
free_completed e bytes=5 addr=0x0
free d at activation
free f nosite
segment_alloc bytes=2MiB addr=0x7f2000000000
oom at activation aten::mm bytes=1GiB
empty_cache
snapshot storage=a
mark "=" temporary "="
pass 2 backward
zz = alloc 1 gradient aten::mul
free a
note shape-bound "nonzero counts \"every\" element" activation aten::nonzero phase=forward
note branch-both both
coverage 12 4 4 3
unsupported no-rule my::op 2 activation my::op layer1 model.py:9 phase=backward
unsupported open-loop prim::Loop 1 activation
`
	tr, err := tracetext.Parse(strings.NewReader(text))
	require.NoError(t, err)
	assert.Equal(t, text, tr.String())
	assert.Equal(t, "fake cuda", tr.Origin)
	assert.Equal(t, Event{Action: FreeRequested, Storage: 2, Bytes: 9408, Pass: 1, Site: 0}, tr.Events[6],
		"a free is at its storage's birth unless it says otherwise")
	assert.Equal(t, Site{Op: "conv1.weight", Module: "layer1", Category: tensor.Parameter, Phase: Load}, tr.Site(0))
	assert.Equal(t, Site{Op: "aten::relu", Module: "layer1.0", File: "my model.py", Line: 7, Phase: Forward},
		tr.Site(tr.Events[2].Site))
	assert.Equal(t, Site{}, tr.Site(99))
	assert.Equal(t, []tensor.StorageID{0, 1}, tr.Before())
	assert.Equal(t, 702, tr.Storages())

	again,
		err := tracetext.Parse(strings.NewReader("# a comment\n\n\t" + strings.ReplaceAll(text, "\n", "   # so it is\n")))
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(tr, again))
}

// TestTextOfAnything: random traces printed and parsed are themselves, except the numbering of
// sites, which is by first use.
func TestTextOfAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	for range 300 {
		tr := &Trace{Origin: pick("", "exec", "a b", "-")}
		for range r.IntN(3) {
			tr.Passes = append(tr.Passes, Pass{pick("", "first", "iteration 2")})
		}
		for range r.IntN(6) {
			tr.Sites = append(tr.Sites, Site{Op: pick("", "aten::mm", "a b", "-", "at", "x=y", "#", "é\xff"),
				Module: pick("", "layer", "\""), File: pick("", "f.py", "c:\\a b.py"),
				Line: r.IntN(3), Phase: Phase(r.IntN(4)), Category: tensor.Category(r.IntN(9))})
		}
		site := func() SiteID { return SiteID(r.IntN(len(tr.Sites)+1)) - 1 }
		for range r.IntN(20) {
			e := Event{Action: Action(r.IntN(int(Actions))), Storage: tensor.StorageID(r.IntN(30)),
				Bytes: units.Bytes(r.IntN(3) * 700), Addr: uint64(r.IntN(2)), Stream: r.IntN(3) - 1,
				Pass: r.IntN(3), Site: site()}
			if e.Action > FreeCompleted && r.IntN(2) == 0 {
				e.Storage = NoStorage
			}
			tr.Events = append(tr.Events, e)
		}
		for range r.IntN(3) {
			tr.Notes = append(tr.Notes,
				Note{note.Note{ID: note.ID(pick("x", "shape-bound")), Subject: pick("", "some text", "askable"),
					Askable: r.IntN(2) == 0}, site()})
		}
		if r.IntN(2) == 0 {
			tr.Coverage = Coverage{Nodes: r.IntN(5), Sized: 1,
				Unsupported: []Unsupported{{Op: pick("", "my::op"), Reason: Reason(r.IntN(int(Reasons))), Detail: pick("", "a b"),
					Count: 3, First: Site{Op: "my::op", Phase: Backward}}}}
		}
		text := tr.String()
		got, err := tracetext.Parse(strings.NewReader(text))
		require.NoError(t, err, text)
		require.Equal(t, text, got.String())
		require.Empty(t, cmp.Diff(resolved(tr), resolved(got), cmpopts.EquateEmpty()), text)
	}
}

// resolved replaces site numbers by the sites.
func resolved(t *Trace) any {
	type event struct {
		Event
		At Site
	}
	type noteAt struct {
		note.Note
		Known bool
		At    Site
	}
	var events []event
	for _, e := range t.Events {
		at := t.Site(e.Site)
		if e.Site != NoSite {
			e.Site = 0
		}
		events = append(events, event{e, at})
	}
	var notes []noteAt
	for _, n := range t.Notes {
		notes = append(notes, noteAt{n.Note, n.Site != NoSite, t.Site(n.Site)})
	}
	return []any{t.Origin, t.Passes, t.Heap, events, notes, t.Coverage}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"good", "a = alloc 5 activation op\nfree a\nfree_completed a", ""},
		{"freed and not completed", "a = alloc 5\nfree a", ""},
		{"heap", "heap 0x200 1KiB\nblock 512 active_awaiting_free a\nblock 512 inactive\nfree_completed a", ""},
		{"allocated twice", "a = alloc 5\na = alloc 5", "event 1: alloc: got storage a allocated, want it unborn"},
		{"born again", "a = alloc 5\nfree a\nfree_completed a\na = alloc 5", "event 3: alloc: got storage a freed, want it " +
			"unborn"},
		{"free without alloc", "free a", "event 0: free_requested: got storage a unborn, want it allocated"},
		{"freed twice", "a = alloc 5\nfree a\nfree a", "event 2: free_requested: got storage a awaiting, want it allocated"},
		{"completed without request", "a = alloc 5\nfree_completed a", "event 1: free_completed: got storage a allocated, " +
			"want it awaiting"},
		{"heap with a hole", "heap 0x200 1KiB\nblock 512 inactive", "heap: segment 0x200: got blocks up to 0x400, want " +
			"0x600"},
		{"heap with one storage twice", "heap 0x200 1KiB\nblock 512 active_allocated a\nblock 512 active_allocated a",
			"heap: block 0x400: got storage a in two blocks"},
		{"storage in a free block", "heap 0x200 512\nblock 512 inactive a", "heap: block 0x200: got storage a in an " +
			"inactive block"},
		{"storage behind a free block", "heap 0x200 1KiB\nblock 512 inactive\nblock 512 inactive a",
			"heap: block 0x400: got storage a in an inactive block"},
		{"pass", "pass -1\na = alloc 5", "event 0: got pass -1"},
		{"a pass that there is not", "passes one\npass 2\na = alloc 5", "event 0: got pass 2 of 1"},
		{"the last pass", "passes one two\npass 2\na = alloc 5", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr, err := tracetext.Parse(strings.NewReader(tt.text))
			require.NoError(t, err)
			if err = tr.Validate(); tt.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.want)
			}
		})
	}
	bad := &Trace{Events: []Event{{Storage: 0, Bytes: -1, Site: 7}, {Action: 99, Storage: -5, Site: NoSite},
		{Action: FreeRequested, Storage: -2, Site: NoSite}, {Action: Actions, Storage: NoStorage, Site: -2},
		{Action: Mark, Storage: NoStorage}},
		Notes: []Note{{Site: 3}, {Site: -2}, {Note: note.Note{ID: "a"}}}, Heap: []Segment{{Addr: 1, Size: 512, Blocks: []Block{
			{Addr: 1, Size: 511, Storage: -7}, {Addr: 512, Size: 1, Storage: NoStorage},
			{Addr: 513, Storage: NoStorage}, {Addr: 514, Size: -1, Storage: NoStorage},
			{Addr: 600, Size: 1, Storage: NoStorage}}}}}
	require.EqualError(t, bad.Validate(), `heap: block 0x1: got storage -7
heap: block 0x201: got 0 bytes, want one at 0x201
heap: block 0x202: got -1 bytes, want one at 0x201
heap: block 0x258: got 1 bytes, want one at 0x201
heap: segment 0x1: got blocks up to 0x259, want 0x201
event 0: got -1 bytes
event 0: got site 7 of 0
event 1: got action 99
event 2: free_requested: got storage -2
event 3: got site -2 of 0
event 3: got action 11
event 4: got site 0 of 0
note 0: got site 3 of 0
note 0: got no id
note 1: got site -2 of 0
note 1: got no id
note 2: got site 0 of 0`)
	assert.Zero(t, (&Trace{}).Storages())
	many := &Trace{}
	for range 30 {
		many.Events = append(many.Events, Event{Bytes: -1, Storage: NoStorage, Action: Mark, Site: NoSite})
	}
	require.Equal(t, 20, strings.Count(many.Validate().Error(), "got -1 bytes"))
	require.ErrorContains(t, many.Validate(), "and 10 more")
	many.Events = many.Events[:20]
	require.NotContains(t, many.Validate().Error(), "more")
}

func TestAlign(t *testing.T) {
	base := "a = alloc 512 activation x\nb = alloc 700 activation y\nmark here\nfree a\nc = alloc 0\nfree b\n"
	for _, tt := range []struct{ name, got, want string }{
		{"the same", base, ""},
		{"other names and places", "d = alloc 512 stream=3\na = alloc 700 addr=0x5\npass 7\nfree d\nfree_completed d\nfree a",
			""},
		{"the cache is emptied elsewhere", strings.Replace(base, "free a", "empty_cache\nfree a", 1), ""},
		{"another size", "a = alloc 512\nb = alloc 701", "after 1 events: the sizes differ: got b = alloc 701, want b = " +
			"alloc 700 activation y"},
		{"another order of frees", strings.Replace(base, "free a", "free b", 1), "after 2 events: the sizes differ: got " +
			"free b at activation y bytes=700, want free a at activation x bytes=512"},
		{"a free too early", "a = alloc 512\nfree a", "after 1 events: the actions differ: got free a bytes=512, want b = " +
			"alloc 700 activation y"},
		{"shorter", "a = alloc 512\nb = alloc 700\nfree a", "after 3 events: an event is missing: got (end), want free b " +
			"at activation y bytes=700"},
		{"longer", base + "e = alloc 1 temporary z", "after 4 events: one event too many: got e = alloc 1 temporary z, " +
			"want (end)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := tracetext.Parse(strings.NewReader(base))
			require.NoError(t, err)
			b, err := tracetext.Parse(strings.NewReader(tt.got))
			require.NoError(t, err)
			d := Align(a, b, Memory)
			if tt.want == "" {
				require.Nil(t, d)
				return
			}
			require.NotNil(t, d)
			assert.EqualError(t, d, tt.want)
			assert.Equal(t, tt.name == "longer", d.Unexpected)
			assert.Len(t, d.ABefore, min(d.Compared, 3))
		})
	}
	emptied, _ := tracetext.Parse(strings.NewReader("a = alloc 5\nempty_cache\nfree a"))
	all := func(*Trace, *Event) bool { return true }
	require.Nil(t, Align(emptied, emptied, all), "what has no storage is alike")
	one, _ := tracetext.Parse(strings.NewReader("a = alloc 5"))
	require.ErrorContains(t, Align(one, &Trace{}, Memory), "after 0 events: an event is missing")
	require.ErrorContains(t, Align(&Trace{}, one, Memory), "after 0 events: one event too many")
	long, _ := tracetext.Parse(strings.NewReader("a = alloc 1\nb = alloc 2\nc = alloc 3\n" +
		"d = alloc 4\ne = alloc 5\nf = alloc 6"))
	longer, _ := tracetext.Parse(strings.NewReader(long.String() + "g = alloc 7"))
	require.Equal(t, []string{"d = alloc 4", "e = alloc 5", "f = alloc 6"}, Align(longer, long, Memory).ABefore)
	same := "a = alloc 5\nb = alloc 5\nfree a\nfree b"
	a, _ := tracetext.Parse(strings.NewReader(same))
	b,
		_ := tracetext.Parse(strings.NewReader(strings.Replace(strings.Replace(same, "free a", "free x", 1), "free b",
		"free a", 1)))
	require.ErrorContains(t, Align(a, b, func(*Trace, *Event) bool { return true }), "the sizes differ")
	c, _ := tracetext.Parse(strings.NewReader("a = alloc 5\nb = alloc 5\nfree b\nfree a"))
	require.ErrorContains(t, Align(a, c, Memory), "after 2 events: the storages differ",
		"equal sizes do not hide a swapped lifetime")
	require.ErrorContains(t, Align(c, a, Memory), "after 2 events: the storages differ")
}

func BenchmarkText(b *testing.B) {
	paths, _ := filepath.Glob("../../../shared/corpus/snapshots/JasperSolt*.pickle")
	if len(paths) == 0 {
		b.Skip("no corpus")
	}
	data, err := os.ReadFile(paths[0])
	require.NoError(b, err)
	recs, err := ReadSnapshot(data)
	require.NoError(b, err)
	text := recs[0].Trace.String()
	b.Run("print", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			_ = recs[0].Trace.String()
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			_, err := tracetext.Parse(strings.NewReader(text))
			require.NoError(b, err)
		}
	})
}

// TestCoverageIsWritten: an account of what was covered is written where any of its numbers is not
// nought, and read again.
func TestCoverageIsWritten(t *testing.T) {
	for _, c := range []Coverage{{}, {Nodes: 1}, {TensorOutputs: 1}, {KnownDType: 1}, {Sized: 1},
		{Nodes: 1, TensorOutputs: 2, KnownDType: 3, Sized: 4}} {
		tr := &Trace{Coverage: c}
		assert.Equal(t, c.Nodes+c.TensorOutputs+c.KnownDType+c.Sized > 0, strings.Contains(tr.String(), "coverage"), "%v", c)
		again, err := tracetext.Parse(strings.NewReader(tr.String()))
		require.NoError(t, err)
		assert.Equal(t, c, again.Coverage)
	}
	tr := &Trace{Coverage: Coverage{Unsupported: []Unsupported{{Op: "t::f", Count: 1}}}}
	assert.Equal(t, "coverage 0 0 0 0\nunsupported no-rule t::f 1 activation\n", tr.String())
}
