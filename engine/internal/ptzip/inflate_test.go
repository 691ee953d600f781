package ptzip

import (
	"bytes"
	"compress/flate"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func deflate(t testing.TB, data []byte, level int) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, level)
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// TestInflate: a record is inflated where it is exactly as long as the directory says, also after
// one that was damaged.
func TestInflate(t *testing.T) {
	noise := make([]byte, 70_000)
	for i := range noise {
		noise[i] = byte(rand.IntN(40))
	}
	for _, data := range [][]byte{nil, []byte("a"), []byte(long), bytes.Repeat([]byte{0}, 100_000), noise} {
		for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, 1, 6, 9} {
			packed := deflate(t, data, level)
			out := make([]byte, len(data))
			require.NoError(t, inflate(out, packed))
			require.True(t, bytes.Equal(data, out))
			require.NoError(t, inflate(out, append(packed[:len(packed):len(packed)], "behind it"...)))
			require.EqualError(t, inflate(make([]byte, len(data)+1), packed),
				fmt.Sprintf("got %d bytes, want %d", len(data), len(data)+1))
			if len(data) > 0 {
				require.ErrorContains(t, inflate(out[1:], packed), "got more than")
			}
			require.ErrorContains(t, inflate(out, packed[:len(packed)/2]), "unexpected EOF")
		}
	}
	assert.ErrorContains(t, inflate(make([]byte, 9), []byte{0xff}), "flate: corrupt input before offset 1")
}
