package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var plain = cmpopts.IgnoreUnexported(Dict{})

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		want       any
		why        string
	}{
		{"none", "\x80\x02N.", nil, ""},
		{"booleans", "\x80\x02\x88\x89\x86.", Tuple{true, false}, ""},
		{"small integer", "K\x2a.", int64(42), "a missing PROTO is accepted, as Python does"},
		{"two bytes", "M\x01\x02.", int64(513), ""},
		{"negative", "J\xff\xff\xff\xff.", int64(-1), ""},
		{"long zero", "\x8a\x00.", int64(0), "Python writes 0L without bytes"},
		{"long", "\x8a\x05\x00\x00\x00\x00\x02.", int64(1 << 33), ""},
		{"long negative", "\x8a\x02\x00\x80.", int64(-32768), ""},
		{"long least", "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.", int64(math.MinInt64), ""},
		{"long unsigned", "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00.", uint64(math.MaxUint64),
			"addresses need the 64th bit"},
		{"long4", "\x8b\x01\x00\x00\x00\x05.", int64(5), ""},
		{"float", "G?\xf0\x00\x00\x00\x00\x00\x00.", 1.0, "floats are big-endian, unlike everything else"},
		{"text", "X\x03\x00\x00\x00abc.", "abc", ""},
		{"short text", "\x8c\x02hi.", "hi", ""},
		{"long text", "\x8d\x02\x00\x00\x00\x00\x00\x00\x00hi.", "hi", ""},
		{"text of Python 2", "T\x02\x00\x00\x00hi.", "hi", ""},
		{"bytes", "C\x02\x00\xff.", []byte{0, 255}, ""},
		{"bytearray", "\x96\x01\x00\x00\x00\x00\x00\x00\x00a.", []byte("a"), ""},
		{"tuple of tuples", "()K\x01\x85(K\x02K\x03K\x04K\x05tt.",
			Tuple{Tuple(nil), Tuple{int64(1)}, Tuple{int64(2), int64(3), int64(4), int64(5)}}, ""},
		{"list", "](K\x01K\x02eK\x03a.", &List{Items: []any{int64(1), int64(2), int64(3)}}, ""},
		{"list twice extended", "](K\x01e(K\x02e.", &List{Items: []any{int64(1), int64(2)}}, ""},
		{"dict", "}(\x8c\x01aK\x01\x8c\x01bK\x02u\x8c\x01cK\x03s.",
			&Dict{Keys: []any{"a", "b", "c"}, Values: []any{int64(1), int64(2), int64(3)}}, ""},
		{"set", "\x8f(K\x01K\x02\x90.", &Set{Items: []any{int64(1), int64(2)}}, ""},
		{"frozenset", "(K\x01\x91.", &Set{Items: []any{int64(1)}}, ""},
		{"memo", "\x8c\x01aq\x07h\x07\x86.", Tuple{"a", "a"}, "entry 7 of a nine-byte pickle is fine"},
		{"memoize", "\x8c\x01a\x94h\x00\x86.", Tuple{"a", "a"}, ""},
		{"memo written again", "K\x01q\x00K\x02q\x00h\x00\x87.", Tuple{int64(1), int64(2), int64(2)}, ""},
		{"memo hole filled", "K\x01q\x01q\x00h\x00\x86.", Tuple{int64(1), int64(1)}, ""},
		{"long memo", "\x8c\x01ar\x02\x00\x00\x00j\x02\x00\x00\x00\x86.", Tuple{"a", "a"}, ""},
		{"frame", "\x80\x04\x95\x02\x00\x00\x00\x00\x00\x00\x00N.", nil, ""},
		{"pop", "K\x01K\x020.", int64(1), ""},
		{"pop of a mark", "K\x01(0.", int64(1), ""},
		{"pops of marks and of what is before them", "K\x01K\x02((0(K\x030000.", int64(1), ""},
		{"an integer of nine bytes", "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00.", uint64(math.MaxUint64), ""},
		{"pop mark", "K\x01(K\x021.", int64(1), ""},
		{"dup", "K\x012\x86.", Tuple{int64(1), int64(1)}, ""},
		{"rest is left alone", "N.garbage", nil, "PyTorch reads several pickles from one stream"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode([]byte(tt.data), Options{})
			require.NoError(t, err)
			assert.Empty(t, cmp.Diff(tt.want, got, plain), tt.why)
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	deep := strings.Repeat("(", 50)
	for _, tt := range []struct {
		name, data, want string
		o                Options
	}{
		{"empty", "", "offset 0: opcode (end): got the end of the data, want STOP", Options{}},
		{"no stop", "N", "offset 1: opcode (end): got the end of the data, want STOP", Options{}},
		{"nothing to return", ".", "offset 0: opcode STOP: got an empty stack, want a value", Options{}},
		{"unknown opcode", "N\xfe.", "offset 1: opcode 0xfe: got an unknown opcode", Options{}},
		{"text opcode", "I1\n.", "offset 0: opcode 0x49: got an unknown opcode", Options{}},
		{"protocol", "\x80\x06N.", "offset 0: opcode PROTO: got protocol 6, want 2 to 5", Options{}},
		{"short", "J\x01", "offset 0: opcode BININT: got 1 bytes left, want 4", Options{}},
		{"length past the end", "X\xff\xff\xff\xffabc", "offset 0: opcode BINUNICODE: got a length of 4294967295 with 3 " +
			"bytes left", Options{}},
		{"length of 64 bits", "\x8e\xff\xff\xff\xff\xff\xff\xff\xff", "offset 0: opcode BINBYTES8: got a length of " +
			"18446744073709551615 with 0 bytes left", Options{}},
		{"big integer", "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.", "offset 0: opcode LONG1: got an integer of 9 " +
			"bytes, want at most 64 bits", Options{}},
		{"under the mark", "K\x01(\x85.", "offset 3: opcode TUPLE1: got 0 values on the stack, want 1", Options{}},
		{"pop of nothing", "0.", "offset 0: opcode POP: got an empty stack, want a value", Options{}},
		{"ten bytes", "\x8a\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00.", "offset 0: opcode LONG1: got an integer of 10 " +
			"bytes, want at most 64 bits", Options{}},
		{"pop under the mark", "]K\x01(a.", "offset 4: opcode APPEND: got an empty stack, want a value", Options{}},
		{"tuple without mark", "K\x01t.", "offset 2: opcode TUPLE: got no MARK", Options{}},
		{"append to a tuple", ")K\x01a.", "offset 3: opcode APPEND: got tuple, want a list", Options{}},
		{"set item of a list", "](NNu.", "offset 4: opcode SETITEMS: got list, want a dict", Options{}},
		{"odd items", "}(Nu.", "offset 3: opcode SETITEMS: got 1 keys and values, want pairs", Options{}},
		{"memo never written", "h\x03.", "offset 0: opcode BINGET: got memo entry 3 of 0", Options{}},
		{"a memo entry of four bytes", "j\x01\x02\x03\x04.", "offset 0: opcode LONG_BINGET: got memo entry 67305985 of 0",
			Options{}},
		{"a memo entry of four bytes to write", "Nr\x01\x02\x03\x04.", "offset 1: opcode LONG_BINPUT: got memo entry " +
			"67305985, want less than 8", Options{}},
		{"memo hole", "Nq\x03h\x02.", "offset 3: opcode BINGET: got memo entry 2, which was never written", Options{}},
		{"memo index", "Nr\xff\xff\xff\x7f.", "offset 1: opcode LONG_BINPUT: got memo entry 2147483647, want less than 8",
			Options{}},
		{"memo index past the bytes", "Nr\xe8\x03\x00\x00.", "offset 1: opcode LONG_BINPUT: " +
			"got memo entry 1000, want less than 8", Options{}},
		{"memo of nothing", "q\x00.", "offset 0: opcode BINPUT: got an empty stack, want a value", Options{}},
		{"global", "cos\nsystem\n.", `offset 0: opcode GLOBAL: got the global "os system", want one that is known`,
			Options{}},
		{"stack global", "\x8c\x02os\x8c\x06system\x93.",
			`offset 12: opcode STACK_GLOBAL: got the global "os system", want one that is known`, Options{}},
		{"stack global of numbers", "K\x01K\x02\x93.", "offset 4: opcode STACK_GLOBAL: got int, want a name", Options{}},
		{"reduce", "N)R.", "offset 2: opcode REDUCE: got a call, want plain data", Options{}},
		{"reduce without tuple", "NNR.", "offset 2: opcode REDUCE: got None, want a tuple of arguments", Options{}},
		{"build", "NNb.", "offset 2: opcode BUILD: got an object's state, want plain data", Options{}},
		{"persistent id", "NQ.", "offset 1: opcode BINPERSID: got a persistent id, want plain data", Options{}},
		{"keyword arguments", "N)}(NNu\x92.", "offset 7: opcode NEWOBJ_EX: got 1 keyword arguments, want none", Options{}},
		{"steps", "NNNN.", "offset 2: opcode NONE: got more than 2 opcodes", Options{MaxSteps: 2}},
		{"depth", deep, "offset 5: opcode MARK: got more than 5 open MARKs", Options{MaxDepth: 5}},
		{"memo entries", "N\x94\x94\x94.", "offset 3: opcode MEMOIZE: got memo entry 2, want less than 2",
			Options{MaxMemo: 2}},
		{"bytes", "]]]]]]]].", "got values of more than 100 bytes", Options{MaxBytes: 100}},
		{"input", strings.Repeat("N", 200), "got values of more than 100 bytes", Options{MaxBytes: 100}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode([]byte(tt.data), tt.o)
			require.ErrorContains(t, err, tt.want)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.ErrorIs(t, err, e.Err)
		})
	}
}

// A memo entry costs 16 bytes, and so does each that is left out before it: numbers alone fill no
// memory.
func TestMemoCosts(t *testing.T) {
	data := []byte(strings.Repeat("N", 50) + "r\x28\x00\x00\x00.") // entry 40
	for _, tt := range []struct {
		budget int
		ok     bool
	}{{len(data) + 16*41, true}, {len(data) + 16*41 - 1, false}} {
		_, err := Decode(data, Options{MaxBytes: tt.budget})
		if tt.ok {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "offset 50: opcode LONG_BINPUT: got values of more than 711 bytes")
		}
	}
	_, err := Decode([]byte("N"+strings.Repeat("\x94", 10)+"."), Options{MaxBytes: 12 + 16*10})
	require.NoError(t, err)
	_, err = Decode([]byte("N"+strings.Repeat("\x94", 10)+"."), Options{MaxBytes: 12 + 16*10 - 1})
	require.ErrorContains(t, err, "offset 10: opcode MEMOIZE: got values of more than 171 bytes")
	_, err = Decode([]byte("Nq\x00q\x00q\x00."), Options{MaxBytes: 8 + 16})
	require.NoError(t, err, "an entry written again costs nothing")
}

// TestCosts: what a value costs of the budget beside the bytes it is written in. One byte less is
// too little, and it is the last value that is refused.
func TestCosts(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		cost       int
	}{
		{"None and bools", "N\x880\x890.", 0},
		{"an empty tuple", ").", 0},
		{"a tuple of one", "N\x85.", 24 + 16},
		{"a tuple of two", "NN\x86.", 24 + 2*16},
		{"a tuple of three", "NNN\x87.", 24 + 3*16},
		{"a tuple of four", "(NNNNt.", 24 + 4*16},
		{"an empty list", "].", 24},
		{"a list of three at once", "](NNNe.", 24 + 3*16},
		{"a list that grows may be moved", "](NNe(NNNe.", 24 + 2*16 + 3*32},
		{"a list that grows by one", "](Ne(Ne.", 24 + 16 + 32},
		{"an item appended", "]NaNa.", 24 + 2*32},
		{"a list off the stack", "(NNl.", 24 + 2*16},
		{"an empty dict", "}.", 64},
		{"a dict of two", "}(NNNNu.", 64 + 4*32},
		{"an item set", "}NNs.", 64 + 2*32},
		{"an empty set", "\x8f.", 24},
		{"a set that grows", "\x8f(NN\x90(N\x90.", 24 + 2*16 + 32},
		{"a frozen set", "(NN\x91.", 24 + 2*16},
		{"a dict off the stack", "(NNd.", 64 + 2*32},
		{"text", "\x8c\x03abc.", 16},
		{"long text", "X\x03\x00\x00\x00abc.", 16},
		{"Python 2's text", "U\x03abc.", 16},
		{"bytes are copied", "C\x03abc.", 24 + 3},
		{"a memo entry", "Nq\x00.", 16},
	} {
		_, err := Decode([]byte(tt.data), Options{MaxBytes: len(tt.data) + tt.cost})
		require.NoError(t, err, tt.name)
		_, err = Decode([]byte(tt.data), Options{MaxBytes: len(tt.data) + tt.cost - 1})
		require.ErrorContains(t, err, fmt.Sprintf("got values of more than %d bytes", len(tt.data)+tt.cost-1), tt.name)
	}
}

// TestClient decodes what the C++ pickler writes for a module: a class, its state, a tensor's
// storage, and a list with a type tag.
func TestClient(t *testing.T) {
	type class struct{ name string }
	type object struct {
		class string
		state any
	}
	type storage struct{ key any }
	data := "\x80\x02c__torch__\nNet\nq\x00)\x81}(X\x01\x00\x00\x00w(X\x07\x00\x00\x00storageK\x05tQub."
	o := Options{
		Globals: func(module, name string) (any, bool) { return class{module + "." + name}, module == "__torch__" },
		NewObj:  func(cls any, args []any) (any, error) { return &object{class: cls.(class).name}, nil },
		Build: func(obj, state any) (any, error) {
			obj.(*object).state = state
			return obj, nil
		},
		PersistentLoad: func(id any) (any, error) { return storage{id.(Tuple)[1]}, nil },
	}
	v, err := Decode([]byte(data), o)
	require.NoError(t, err)
	obj := v.(*object)
	assert.Equal(t, "__torch__.Net", obj.class)
	w, ok := obj.state.(*Dict).Get("w")
	require.True(t, ok)
	assert.Equal(t, storage{int64(5)}, w)

	for args, want := range map[string]any{"K\x05\x85": int64(5), "K\x06": int64(6)} {
		o.Reduce = func(f any, args []any) (any, error) { return args[0], nil }
		v, err = Decode([]byte("\x80\x02c__torch__\nE\n"+args+"R."), o)
		require.NoError(t, err)
		assert.Equal(t, want, v, "TorchScript writes an enumeration's value without a tuple")
	}
	for state, want := range map[string]string{"}": "", "}(\x8c\x01aK\x01u": "got 1 keyword arguments, want none"} {
		v, err = Decode([]byte("\x80\x02c__torch__\nNet\n)"+state+"\x92."), o)
		if want != "" {
			assert.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, "__torch__.Net", v.(*object).class)
	}

	o.PersistentLoad = func(any) (any, error) { return nil, errors.New("got no storage") }
	_, err = Decode([]byte(data), o)
	require.EqualError(t, err, "offset 45: opcode BINPERSID: got no storage")

	o.PersistentLoad = func(id any) (any, error) { return id.(string), nil }
	_, err = Decode([]byte(data), o)
	require.ErrorContains(t, err, "internal error:", "a bug of the caller's is reported as such, not as a panic")
}

func TestSelfReference(t *testing.T) {
	v, err := Decode([]byte("]q\x00h\x00a."), Options{})
	require.NoError(t, err)
	l := v.(*List)
	require.Len(t, l.Items, 1)
	assert.Same(t, l, l.Items[0])
}

func TestDict(t *testing.T) {
	d := &Dict{}
	_, ok := d.Get("a")
	assert.False(t, ok)
	for i := range 40 {
		d.Keys, d.Values = append(d.Keys, int64(i)), append(d.Values, i)
		v, ok := d.Get(int64(i))
		assert.True(t, ok)
		assert.Equal(t, i, v)
		d.index = nil
	}
	d.Keys, d.Values = append(d.Keys, int64(3), Tuple{"a"}, "k"), append(d.Values, "again", "tuple", "text")
	v, _ := d.Get(int64(3))
	assert.Equal(t, "again", v, "the last of two equal keys wins")
	assert.Equal(t, "text", d.Lookup("k"))
	assert.Nil(t, d.Lookup("missing"))
	_, ok = d.Get(Tuple{"a"})
	assert.False(t, ok, "tuples are not looked up")

	small := &Dict{Keys: []any{Tuple{"a"}, "k", "k"}, Values: []any{0, 1, 2}}
	assert.Equal(t, 2, small.Lookup("k"))
	assert.Nil(t, small.Lookup("missing"))
	v, _ = small.Get("k")
	assert.Equal(t, 2, v)
}

// TestDecoderReuse: what one pickle left behind is not seen by the next, and earlier results stay
// as they were.
func TestDecoderReuse(t *testing.T) {
	d := NewDecoder(Options{})
	first, err := d.Decode([]byte("(\x8c\x01a\x94M\x01\x02t."))
	require.NoError(t, err)
	_, err = d.Decode([]byte("((N\x94N"))
	require.Error(t, err)
	_, err = d.Decode([]byte("h\x00."))
	require.ErrorContains(t, err, "got memo entry 0 of 0")
	second, err := d.Decode([]byte("(\x8c\x01bM\x03\x04t."))
	require.NoError(t, err)
	assert.Equal(t, Tuple{"a", int64(513)}, first)
	assert.Equal(t, Tuple{"b", int64(1027)}, second)
}

// TestCorpus decodes every snapshot there is.
func TestCorpus(t *testing.T) {
	paths, err := filepath.Glob("../../../../shared/corpus/snapshots/*.p*kl*")
	require.NoError(t, err)
	if len(paths) == 0 {
		t.Skip("the corpus is not here")
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		require.NoError(t, err)
		v, err := Decode(data, Options{})
		require.NoError(t, err, filepath.Base(p))
		require.IsType(t, &List{}, v.(*Dict).Lookup("segments"), filepath.Base(p))
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"\x80\x02N.", "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00.", "](K\x01K\x02eK\x03a.", "}(\x8c\x01aK\x01u.",
		"\x8f(K\x01\x90.", "]q\x00h\x00a.",
		"\x80\x02c__torch__\nNet\nq\x00)\x81}(X\x01\x00\x00\x00w(X\x07\x00\x00\x00storageK\x05tQub.",
		"\x8c\x02os\x8c\x06system\x93)R.", "(0((1N.",
	} {
		f.Add([]byte(s))
	}
	limits := Options{MaxSteps: 1 << 16, MaxMemo: 1 << 12, MaxBytes: 1 << 20, MaxDepth: 100}
	open := benign()
	open.MaxSteps, open.MaxMemo, open.MaxBytes, open.MaxDepth = limits.MaxSteps, limits.MaxMemo, limits.MaxBytes,
		limits.MaxDepth
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, o := range []Options{limits, open} {
			_, err := Decode(data, o)
			var e *Error
			if err == nil {
				continue
			}
			require.ErrorAs(t, err, &e)
			require.NotContains(t, err.Error(), "internal error:")
			require.LessOrEqual(t, e.Offset, len(data))
		}
	})
}

// TestDefaultLimits: what a reader takes that sets no own limit. A negative one is none.
func TestDefaultLimits(t *testing.T) {
	for _, o := range []Options{{}, {MaxSteps: -1, MaxDepth: -1, MaxMemo: -1, MaxBytes: -1}} {
		d := NewDecoder(o)
		got := d.m.o
		assert.Equal(t, [3]int{1 << 26, 10_000, 1 << 23}, [3]int{got.MaxSteps, got.MaxDepth, got.MaxMemo},
			"opcodes, open MARKs, memo entries")
		d.m.reset([]byte("N."))
		assert.Equal(t, 512<<20, d.m.budget, "bytes")
		d.m.reset(make([]byte, 100<<20))
		assert.Equal(t, 800<<20, d.m.budget, "of much data")
	}
	one := NewDecoder(Options{MaxSteps: 1, MaxDepth: 1, MaxMemo: 1, MaxBytes: 1}).m.o
	assert.Equal(t, [4]int{1, 1, 1, 1}, [4]int{one.MaxSteps, one.MaxDepth, one.MaxMemo, one.MaxBytes},
		"a limit of one is a limit")
	_, err := Decode([]byte(strings.Repeat("(", 10_000)+"t"+strings.Repeat("t", 9_999)+"."), Options{})
	require.NoError(t, err)
	_, err = Decode([]byte(strings.Repeat("(", 10_001)+"."), Options{})
	require.EqualError(t, err, "offset 10000: opcode MARK: got more than 10000 open MARKs")
}

// TestGet: a key's last value, in small dicts and in those that have an index; what cannot be a key
// of Python's has none.
func TestGet(t *testing.T) {
	for _, n := range []int{1, 2, linearDict, linearDict + 1, 3 * linearDict} {
		d := &Dict{}
		for i := range n {
			d.Keys, d.Values = append(d.Keys, int64(i)), append(d.Values, i)
		}
		d.Keys, d.Values = append(d.Keys, int64(0), &List{}), append(d.Values, "again", "a list")
		for i := 1; i < n; i++ {
			got, ok := d.Get(int64(i))
			require.True(t, ok, "%d of %d", i, n)
			require.Equal(t, i, got)
		}
		got, ok := d.Get(int64(0))
		assert.True(t, ok)
		assert.Equal(t, "again", got, "the last of a key")
		_, ok = d.Get(int64(n))
		assert.False(t, ok)
		_, ok = d.Get(d.Keys[n+1])
		assert.False(t, ok, "a list is no key")
	}
}

// TestWhatValuesCost: how many bytes each kind of value is counted as, beside the pickle itself: as
// much as may be had reads it, and a byte less does not.
func TestWhatValuesCost(t *testing.T) {
	for _, tt := range []struct {
		why, data string
		cost      int
	}{
		{"none, truths and small numbers", "N0\x880\x890K\x010J\x00\x00\x00\x00.", 0},
		{"an empty tuple", ").", 0},
		{"a tuple of one", "N\x85.", 40},
		{"of two", "NN\x86.", 56},
		{"of three", "NNN\x87.", 72},
		{"of four", "(NNNNt.", 88},
		{"an empty list", "].", 24},
		{"a list of one", "]Na.", 56},
		{"of three", "](NNNe.", 72},
		{"a list from a mark", "(NNl.", 56},
		{"an empty dict", "}.", 64},
		{"a dict of one", "}K\x01Ns.", 128},
		{"of two", "}(K\x01NK\x02Nu.", 192},
		{"a dict from a mark", "(K\x01Nd.", 128},
		{"an empty set", "\x8f.", 24},
		{"a text", "X\x03\x00\x00\x00abc.", 16},
		{"bytes", "C\x03abc.", 27},
		{"a large number", "J\x00\x00\x00\x01.", 0},
		{"a fraction", "G\x3f\xf0\x00\x00\x00\x00\x00\x00.", 0},
		{"a memo entry", "Nq\x00.", 16},
	} {
		least := 0
		for ; least < 1000; least++ {
			if _, err := Decode([]byte(tt.data), Options{MaxBytes: least + 1}); err == nil {
				break
			}
		}
		assert.Equal(t, tt.cost, least+1-len(tt.data), "%s", tt.why)
	}
}

// TestTheStackIsCharged: values that nothing takes off the stack are refused long before they fill
// the memory.
func TestTheStackIsCharged(t *testing.T) {
	whole := func(n int) []byte { return []byte("\x80\x02" + strings.Repeat("N", n) + ".") }
	_, err := Decode(whole(maxStack/2), Options{})
	require.NoError(t, err)
	_, err = Decode(whole(4*maxStack), Options{})
	assert.ErrorContains(t, err, "got a stack of more than 65536 values without a MARK")
	_, err = Decode([]byte("\x80\x02("+strings.Repeat("N", 1<<16)+"t."), Options{MaxBytes: 4 << 20})
	require.NoError(t, err)
	_, err = Decode([]byte("\x80\x02("+strings.Repeat("N", 1<<16)+"t."), Options{MaxBytes: 5 << 18})
	assert.ErrorContains(t, err, "got values of more than 1310720 bytes")
}

// TestObjectsAreCharged: what the caller makes counts, however little of the pickle asks for it.
func TestObjectsAreCharged(t *testing.T) {
	object := func(any, []any) (any, error) { return "object", nil }
	o := Options{Reduce: object, NewObj: object, PersistentLoad: func(any) (any, error) { return "object", nil }}
	for data, opcode := range map[string]string{"N)R.": "REDUCE", "N)\x81.": "NEWOBJ", "NQ.": "BINPERSID"} {
		o.MaxBytes = len(data) + 64
		_, err := Decode([]byte(data), o)
		require.NoError(t, err, opcode)
		o.MaxBytes--
		_, err = Decode([]byte(data), o)
		require.ErrorContains(t, err, opcode+": got values of more than")
	}
}

// TestADictIsReadWhileItGrows: reading it each time takes no longer than its length.
func TestADictIsReadWhileItGrows(t *testing.T) {
	const n = 1 << 17
	data := []byte("}")
	for i := range uint32(n) {
		data = append(data, 'J')
		data = binary.LittleEndian.AppendUint32(data, i)
		data = append(data, "NsQ"...)
	}
	reads := 0
	v, err := Decode(append(data, '.'), Options{PersistentLoad: func(v any) (any, error) {
		_, found := v.(*Dict).Get(int64(reads))
		require.True(t, found)
		reads++
		return v, nil
	}})
	require.NoError(t, err)
	assert.Len(t, v.(*Dict).Keys, n)
	assert.Equal(t, n, reads)
}
