package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/units"
)

// TestRankInWords: where a rank is, how many ran, and how many that differ did not.
func TestRankInWords(t *testing.T) {
	for want, r := range map[string]Rank{
		"rank 0 (0 of 0 ranks run)":                        {},
		"rank 3 (1 of 8 ranks run)":                        {Rank: 3, WorldSize: 8, Run: []int{3}},
		"rank 3 (dp 0 of 2; 2 of 8 ranks run)":             {Rank: 3, WorldSize: 8, Run: []int{0, 3}, Place: "dp 0 of 2"},
		"rank 1 (1 of 4 ranks run; 1 that differ did not)": {Rank: 1, WorldSize: 4, Run: []int{1}, Unlike: 1},
		"rank 7 (stage 1; 2 of 9 ranks run; 5 that differ did not)": {Rank: 7, WorldSize: 9, Run: []int{1, 7},
			Place: "stage 1", Unlike: 5},
	} {
		assert.Equal(t, want, r.String())
		run := Run{Artifact: "m.rec", Device: "t4", Runtime: "eager", Rank: &r, GPUs: 2}
		assert.Equal(t, "m.rec on 2 × t4, eager, "+want, run.Head())
	}
}

// TestOneOfEachKind: which metrics a report has, which are of a device, and which notes lower a
// quality.
func TestOneOfEachKind(t *testing.T) {
	loaded, tokens := units.Bytes(3), int64(5)
	of := func(r *Report) (names []string) {
		for _, m := range r.Metrics() {
			name := string(m)
			if v, ok := r.UpperValue(m); ok {
				name += " " + m.Text(v)
			}
			names = append(names, name)
		}
		return names
	}
	assert.Equal(t, []string{"weights", "delta 5 B", "allocated 5 B", "reserved 7 B", "total"},
		of(&Report{Upper: &Upper{Allocated: 5, Reserved: 7}}))
	assert.Equal(t, []string{"loaded", "activation", "kv_tokens 5", "concurrency"},
		of(&Report{Upper: &Upper{Allocated: 5}, Serving: &Serving{Loaded: &loaded, LeastTokens: &tokens}}))
	for _, m := range AllMetrics() {
		assert.Equal(t, m != HostPinned, m.OfDevice(), m)
	}
	var exact []string
	for _, id := range note.IDs() {
		if n := (Note{ID: note.ID(id)}); !n.Lowers() {
			exact = append(exact, id)
		}
	}
	assert.Equal(t, []string{"dependencies-unchecked", "device-remapped", "gradient-missing", "index-assumed",
		"value-assumed", "value-compared", "value-stated"}, exact, "nothing of the figures is assumed")
}

// TestAccountByWhatIsKnown: of a program without modules by line, else by module.
func TestAccountByWhatIsKnown(t *testing.T) {
	held := func(module, file string, line int, flat units.Bytes) Holder {
		return Holder{Site: Site{Op: "o", File: file, Line: line, Module: module}, Category: "activation", Flat: flat,
			Count: 1}
	}
	written := func(r *Report, rows int) string {
		var b strings.Builder
		assert.NoError(t, WriteAccount(layout.Wide(&b, 100), r, rows))
		return b.String()
	}
	lines := []Holder{held("", "a.py", 3, 4), held("", "a.py", 9, 2), held("", "b.py", 3, 1)}
	r := &Report{Run: Run{Program: true}, Holders: lines}
	assert.Equal(t, "  held at the peak:\n    flat  cum  line    what\n     4 B  4 B  a.py:3  activations ×1\n"+
		"     2 B  6 B  a.py:9  activations ×1\n    … 1 more (-v)\n", written(r, 2))
	assert.Contains(t, written(r, 3), "b.py:3")
	assert.NotContains(t, written(r, 3), "more")
	assert.Contains(t, written(r, 0), "b.py:3")
	r.Program = false
	assert.Contains(t, written(r, 0), "flat  cum  module")
	r.Program, r.Holders = true, append([]Holder{held("m", "a.py", 3, 8)}, lines...)
	assert.Contains(t, written(r, 0), "flat   cum  module")
	assert.Empty(t, written(&Report{}, 0), "nothing is held")
	r = &Report{Cached: 3, ReservedAt: &Moment{}, Peak: Peak{Reserved: 12}}
	assert.Equal(t, "  cached but free: 3 B (25.0% of reserved)\n", written(r, 0))
	r.ReservedAt = nil
	assert.Empty(t, written(r, 0))
}

// TestRowsThatDoNotFit: an error of a write is the error of a table.
func TestRowsThatDoNotFit(t *testing.T) {
	assert.ErrorIs(t, WriteRows(&full{}, ByModule, []Row{{Where: "a"}}, 0), assert.AnError)
	assert.ErrorIs(t, WriteAccount(&full{}, &Report{PeakAt: &Moment{}}, 0), assert.AnError)
	assert.ErrorIs(t, WriteAccount(&full{}, &Report{Serving: &Serving{KV: &KVCache{}}}, 0), assert.AnError)
}
