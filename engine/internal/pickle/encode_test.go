package pickle

import (
	"math"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func everything() any {
	return Tuple{nil, true, false, int64(0), int64(255), int64(256), int64(-1), int64(math.MinInt32),
		int64(math.MaxInt32) + 1, int64(math.MinInt64), uint64(math.MaxUint64), 1.5,
		"", "text é", &List{}, &List{Items: []any{"a", Tuple{int64(1)}}},
		&Dict{Keys: []any{"k", int64(2)}, Values: []any{int64(1), &List{}}}}
}

func TestEncode(t *testing.T) {
	data, err := Encode(everything())
	require.NoError(t, err)
	got, err := Decode(data, Options{})
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(everything(), got, plain))

	small, err := Encode(Tuple{7, uint64(7)})
	require.NoError(t, err)
	got, err = Decode(small, Options{})
	require.NoError(t, err)
	assert.Equal(t, Tuple{int64(7), int64(7)}, got)

	loop := &List{}
	loop.Items = []any{loop}
	_, err = Encode(loop)
	require.EqualError(t, err, "got values nested more than 100 deep")
	for _, v := range []any{struct{}{}, Tuple{[]int{1}}, &Dict{Keys: []any{1}, Values: []any{make(chan int)}},
		&List{Items: []any{complex(1, 2)}}} {
		_, err = Encode(v)
		require.ErrorContains(t, err, "want plain data")
	}
}

// TestEncodeForPython: Python reads what is written, where there is a Python.
func TestEncodeForPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	data, err := Encode(everything())
	require.NoError(t, err)
	path := t.TempDir() + "/x.pickle"
	require.NoError(t, os.WriteFile(path, data, 0o600))
	out, err := exec.Command(python, "-c", "import pickle, sys; print(ascii(pickle.load(open(sys.argv[1], 'rb'))))",
		path).Output()
	require.NoError(t, err)
	assert.Equal(t, "(None, True, False, 0, 255, 256, -1, -2147483648, 2147483648, -9223372036854775808, "+
		"18446744073709551615, 1.5, '', 'text \\xe9', [], ['a', (1,)], "+
		"{'k': 1, 2: []})\n", string(out))
}

// What a value is called in messages.
func TestKinds(t *testing.T) {
	for want, v := range map[string]any{"None": nil, "bool": true, "int": int64(1), "float": 1.5, "str": "a",
		"bytes": []byte{1}, "tuple": Tuple{}, "list": &List{}, "dict": &Dict{}, "set": &Set{}, "int8": int8(1)} {
		assert.Equal(t, want, kind(v))
	}
	assert.Equal(t, "int", kind(uint64(1)))
}
