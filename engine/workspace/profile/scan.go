package profile

import (
	"slices"

	"github.com/memspec/memspec/engine/internal/jsonscan"
	"github.com/memspec/memspec/engine/units"
)

// A profile of a thousand calls takes encoding/json longer than a prediction takes, so one in the
// form that WriteTo gives it, whatever its white space and order of keys, is read by a scanner that
// knows that form. Anything else is encoding/json's to read or to refuse.

// scan reads a profile; ok is false where it is not of the form that it knows.
func scan(data []byte) (f file, ok bool) {
	r := &reader{s: jsonscan.New(data), texts: map[string]string{}, ok: true}
	r.object([]string{"schema", "groups"}, func(key int) {
		switch key {
		case 0:
			f.Schema = int(r.s.Int())
		case 1:
			f.Groups = []Group{}
			r.s.Array(func() { f.Groups = append(f.Groups, r.group()) })
		}
	})
	r.s.End()
	return f, r.ok && r.s.Err() == nil
}

type reader struct {
	s     *jsonscan.Scanner
	texts map[string]string // one of equal ones, no part of the document
	dims  []int64           // room for lists of numbers
	ok    bool
}

func (r *reader) giveUp() {
	r.ok = false
	r.s.Fail("not for this reader")
}

// object calls member with the place of each key in the list. A key that is not there, or comes
// twice, is not for this reader.
func (r *reader) object(keys []string, member func(key int)) {
	seen := uint32(0)
	r.s.Object(func(key string) {
		k := slices.Index(keys, key)
		if k < 0 || seen&(1<<k) != 0 {
			r.giveUp()
			return
		}
		seen |= 1 << k
		member(k)
	})
}

func (r *reader) group() (g Group) {
	r.object([]string{"library", "version", "class", "entries"}, func(key int) {
		switch key {
		case 0:
			g.Library = r.text()
		case 1:
			g.Version = r.text()
		case 2:
			g.Class = r.text()
		case 3:
			g.Entries = []Entry{}
			r.s.Array(func() {
				g.Entries = append(g.Entries, Entry{})
				r.entry(&g.Entries[len(g.Entries)-1])
			})
		}
	})
	return g
}

var entryKeys = []string{"op", "direction", "dtype", "input", "input_strides", "weight", "weight_strides", "padding",
	"stride", "dilation", "groups",
	"deterministic", "allow_tf32", "benchmark", "bytes", "engine", "most"}

func (r *reader) entry(e *Entry) {
	r.object(entryKeys, func(key int) {
		switch key {
		case 0:
			e.Op = r.text()
		case 1:
			e.Direction = r.text()
		case 2:
			e.DType = r.text()
		case 3:
			e.Input = r.numbers()
		case 4:
			e.InputStrides = r.numbers()
		case 5:
			e.Weight = r.numbers()
		case 6:
			e.WeightStrides = r.numbers()
		case 7:
			e.Padding = r.numbers()
		case 8:
			e.Stride = r.numbers()
		case 9:
			e.Dilation = r.numbers()
		case 10:
			e.Groups = r.s.Int()
		case 11:
			e.Deterministic = r.s.Bool()
		case 12:
			e.AllowTF32 = r.s.Bool()
		case 13:
			e.Benchmark = r.s.Bool()
		case 14:
			e.Bytes = units.Bytes(r.s.Int())
		case 15:
			e.Engine = int(r.s.Int())
		case 16:
			e.Most = units.Bytes(r.s.Int())
		}
	})
}

// text is a string of printable ASCII.
func (r *reader) text() string {
	raw := r.s.Raw()
	if s, ok := r.texts[string(raw)]; ok {
		return s
	}
	for _, c := range raw {
		if c < ' ' || c > '~' || c == '\\' {
			r.giveUp()
			return ""
		}
	}
	s := string(raw)
	r.texts[s] = s
	return s
}

// numbers is a list of whole numbers, nil for none as encoding/json has it where the key is
// missing.
func (r *reader) numbers() []int64 {
	if cap(r.dims)-len(r.dims) < 8 {
		r.dims = make([]int64, 0, 1024)
	}
	from := len(r.dims)
	r.s.Array(func() { r.dims = append(r.dims, r.s.Int()) })
	return r.dims[from:len(r.dims):len(r.dims)]
}
