package torchscript

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shownRange writes a value of a debug record: 3, "text", (a, b), [a].
func shownRange(m *rangeMachine, v rangeValue) string {
	switch v.kind {
	case rangeNone:
		return "None"
	case rangeInt:
		return fmt.Sprint(v.a)
	case rangeText:
		return fmt.Sprintf("%q", m.text(v))
	case rangeGlobal:
		return "global"
	}
	items, _ := m.items(v)
	parts := make([]string, len(items))
	for i, item := range items {
		parts[i] = shownRange(m, item)
	}
	if v.kind == rangeList {
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// TestRangeMachine: the opcodes that PyTorch writes into debug records, and what is none.
func TestRangeMachine(t *testing.T) {
	for _, tt := range []struct{ why, data, want, err string }{
		{"an int of a byte", "\x80\x02K\x07.", "7", ""},
		{"of a byte, the last thing", "K\xff.", "255", ""},
		{"of two bytes", "M\x01\x02.", "513", ""},
		{"of two bytes, more behind it", "M\x01\x02K\x01\x86.", "(513, 1)", ""},
		{"of four", "J\x01\x00\x00\x80.", "-2147483647", ""},
		{"of four, all of them", "J\x04\x03\x02\x01.", "16909060", ""},
		{"a long", "\x8a\x02\x01\x02.", "513", ""},
		{"a long of nothing", "\x8a\x00.", "0", ""},
		{"a long of eight", "\x8a\x08\x01\x00\x00\x00\x00\x00\x00\x00.", "1", ""},
		{"a long that is too long", "\x8a\x09\x01\x00\x00\x00\x00\x00\x00\x00\x00.", "",
			"got the end of the record, want more"},
		{"a long that does not fit", "\x8a\x05\x00\x00\x00\x00\x01.", "", "got 4294967296, want an integer of 32 bits"},
		{"a long cut off", "\x8a\x02\x01", "", "got the end of the record"},
		{"a long without a length", "\x8a", "", "got the end of the record"},
		{"a text", "X\x02\x00\x00\x00ab.", `"ab"`, ""},
		{"an empty one", "X\x00\x00\x00\x00.", `""`, ""},
		{"a text cut off", "X\x03\x00\x00\x00ab", "", "got the end of the record"},
		{"a text of a negative length", "X\xff\xff\xff\xffab.", "", "got the end of the record"},
		{"none", "N.", "None", ""},
		{"an empty tuple", ").", "()", ""},
		{"an empty list", "].", "[]", ""},
		{"tuples of one, two and three", "K\x01\x85K\x01K\x02\x86K\x01K\x02K\x03\x87\x87.", "((1), (1, 2), (1, 2, 3))", ""},
		{"a tuple of too few", "K\x01\x86.", "", "offset 3: got too few values for a tuple"},
		{"a tuple from a mark", "(K\x01K\x02K\x03K\x04t.", "(1, 2, 3, 4)", ""},
		{"marks in each other", "(K\x01(K\x02t(tt.", "(1, (2), ())", ""},
		{"a tuple without a mark", "K\x01t.", "", "got no MARK"},
		{"a mark above what is left", "K\x01K\x02(\x86t.", "", "got no MARK"},
		{"a list of items", "](K\x01K\x02e.", "[1, 2]", ""},
		{"items without a list", "K\x05(K\x01e.", "", "got items without an empty list"},
		{"items without anything", "(K\x01e.", "", "got items without an empty list"},
		{"items for a list that has some", "](K\x01e(K\x02e.", "", "got items without an empty list"},
		{"items without a mark", "]e.", "", "got no MARK"},
		{"from the memo", "K\x07q\x00K\x08q\x01h\x00h\x01\x87.", "", "got 2 values at the end, want 1"},
		{"from the memo, the last thing", "K\x07q\x00\x85h\x00\x86.", "((7), 7)", ""},
		{"a long memo", "K\x07r\x00\x00\x00\x00j\x00\x00\x00\x00\x86.", "(7, 7)", ""},
		{"put anew", "K\x07q\x00K\x08q\x00h\x00\x87.", "(7, 8, 8)", ""},
		{"a hole in the memo", "K\x07q\x01.", "", "got memo entry 1 after 0"},
		{"put of nothing", "q\x00.", "", "got memo entry 0 after 0"},
		{"a negative entry", "K\x01r\xff\xff\xff\xff.", "", "got memo entry -1 after 0"},
		{"an entry that is not there", "h\x00\x85.", "", "got memo entry 0 of 0"},
		{"behind the last", "K\x01q\x00h\x01\x86.", "", "got memo entry 1 of 1"},
		{"a negative one", "j\xff\xff\xff\xff.", "", "got memo entry -1 of 0"},
		{"a list of integers", "ctorch.jit._pickle\nbuild_intlist\n](K\x01K\x02e\x85R.", "[1, 2]", ""},
		{"a call of what is no function", "K\x01K\x02\x85R.", "", "got a call, want a list of integers"},
		{"a call of two", "ca\nb\nK\x01K\x02\x86R.", "", "got a call, want a list of integers"},
		{"a call of no tuple", "ca\nb\nK\x01R.", "", "got a call, want a list of integers"},
		{"a call of nothing", "K\x01R.", "", "got too few values for a call"},
		{"a function cut off", "ca\nb", "", "got the end of the record"},
		{"nothing", "", "", "got the end of the record"},
		{"no end", "K\x01", "", "got the end of the record"},
		{"an argument cut off", "J\x01\x02", "", "got the end of the record"},
		{"two values", "K\x01K\x02.", "", "got 2 values at the end, want 1"},
		{"no value", ".", "", "got 0 values at the end, want 1"},
		{"an int without its byte", "K", "", "got the end of the record"},
		{"two bytes without both", "M", "", "got the end of the record"},
		{"two bytes without the second", "K\x01M\x01", "", "got the end of the record"},
		{"a version without its byte", "\x80", "", "got the end of the record"},
		{"a put without its place", "K\x01q", "", "got the end of the record"},
		{"a get without its place", "K\x01q\x00h", "", "got the end of the record"},
		{"a long put without its place", "K\x01r\x00\x00\x00", "", "got the end of the record"},
		{"a long get without its place", "K\x01q\x00j\x00\x00\x00", "", "got the end of the record"},
		{"a text without its length", "X\x00\x00\x00", "", "got the end of the record"},
		{"another opcode", "K\x01}.", "", "offset 3: got opcode 0x7d, want one of a debug record"},
	} {
		// of the record before it
		m := &rangeMachine{stack: make([]rangeValue, 3), marks: make([]int32, 2), memo: make([]rangeValue, 4),
			arena: make([]rangeValue, 5)}
		v, err := m.run(tt.data)
		if tt.err != "" {
			assert.ErrorContains(t, err, tt.err, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, shownRange(m, v), tt.why)
		if v.kind != rangeTuple && v.kind != rangeList {
			_, err := m.items(v)
			assert.EqualError(t, err, "got a record that is no tuple")
		}
	}
}
