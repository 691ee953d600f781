package trace

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/tensor"
)

// TestWords: a word is quoted where a reader of the text would take it apart, take it for something
// else, or not see it.
func TestWords(t *testing.T) {
	for s, want := range map[string]string{
		"":         `-`,
		"-":        `"-"`,
		"--":       `--`,
		"aten::mm": `aten::mm`,
		"a b":      `"a b"`,
		"a\tb":     `"a\tb"`,
		"a\x00":    `"a\x00"`,
		"!":        `!`, // the first behind a blank
		`a"b`:      `"a\"b"`,
		"#":        `"#"`,
		"a=b":      `"a=b"`,
		"a~":       `a~`, // the last before DEL
		"a\x7f":    `"a\x7f"`,
		"é":        `é`,
		"\u0080":   `"\u0080"`,
		"a\u00a0b": `"a\u00a0b"`, // a blank that cannot be distinguished from others
		"\ufffd":   `"` + "\ufffd" + `"`,
		"é\xff":    `"é\xff"`,
	} {
		p := &printer{}
		p.word(s)
		assert.Equal(t, want, string(p.buf), "%q", s)
	}
}

// TestWordsApart: words are apart from each other, and not from a line's begin.
func TestWordsApart(t *testing.T) {
	p := &printer{}
	p.words("a", "b")
	p.end()
	p.words("c", "")
	assert.Equal(t, "a b\nc -", string(p.buf))
}

// TestUnknownWords: a value without a name, and a name of no value.
func TestUnknownWords(t *testing.T) {
	for _, got := range []string{Action(len(actionNames)).String(), Phase(len(phaseNames)).String(),
		BlockState(len(blockStateNames)).String(), Reason(len(reasonNames)).String()} {
		assert.Equal(t, "unknown", got)
	}
	_, ok := ParsePhase("unknown")
	assert.False(t, ok)
	_, ok = ParseReason("unknown")
	assert.False(t, ok)
	text, err := OpenLoop.MarshalText()
	assert.NoError(t, err)
	assert.Equal(t, "open-loop", string(text))
	var r Reason
	assert.NoError(t, r.UnmarshalText(text))
	assert.Equal(t, OpenLoop, r)
	assert.ErrorContains(t, r.UnmarshalText([]byte("unknown")), `got the reason "unknown", want one of no-rule, `)
}

// TestStorageNames: the letters of a storage.
func TestStorageNames(t *testing.T) {
	for id, want := range map[tensor.StorageID]string{0: "a", 25: "z", 26: "aa", 701: "zz", 702: "aaa", NoStorage: "-"} {
		assert.Equal(t, want, storageName(id))
	}
}

// TestJoins: segments that grow are one where the second begins at the end of the first, of one
// stream and one pool.
func TestJoins(t *testing.T) {
	of := func(edit func(s *Segment)) *rewound {
		s := Segment{Addr: 4096, Size: 4096, Stream: 1, Private: "g", Expandable: true}
		edit(&s)
		return &rewound{Segment: s}
	}
	first := of(func(*Segment) {})
	for _, tt := range []struct {
		why  string
		edit func(s *Segment)
		want bool
	}{
		{"behind it", func(s *Segment) { s.Addr = 8192 }, true}, {"apart", func(s *Segment) { s.Addr = 8193 }, false},
		{"within it", func(s *Segment) { s.Addr = 8191 }, false}, {"before it", func(s *Segment) { s.Addr = 0 }, false},
		{"of another stream", func(s *Segment) { s.Addr, s.Stream = 8192, 2 }, false}, {"of another pool", func(s *Segment) {
			s.Addr, s.Private = 8192, ""
		}, false}, {"that does not grow", func(s *Segment) { s.Addr, s.Expandable = 8192, false }, false},
	} {
		assert.Equal(t, tt.want, first.joins(of(tt.edit)), tt.why)
	}
	fixed := of(func(s *Segment) { s.Expandable = false })
	assert.False(t, fixed.joins(of(func(s *Segment) { s.Addr = 8192 })))
}
