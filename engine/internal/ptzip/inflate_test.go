package ptzip

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
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

// TestInflate: what compress/flate packs comes back, at every level, from stored blocks to long codes.
func TestInflate(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var f inflater
	samples := [][]byte{nil, []byte("a"), []byte(long), bytes.Repeat([]byte{0}, 100_000)}
	for range 60 {
		data := make([]byte, r.IntN(70_000))
		alphabet := 1 + r.IntN(255)
		for i := range data {
			data[i] = byte(r.ExpFloat64() * float64(alphabet) / 8) // some bytes are rare: codes of more than nine bits
			if i > 100 && r.IntN(20) == 0 {
				copy(data[i:], data[r.IntN(i):][:min(r.IntN(50), len(data)-i, i)])
			}
		}
		samples = append(samples, data)
	}
	for period := 1; period <= 20; period++ { // copies that overlap themselves, up to the last byte
		var unit []byte
		for range period {
			unit = append(unit, byte(r.IntN(256)))
		}
		for _, n := range []int{period + 3, period + 8, period + 15, period + 16, period + 17, period + 40} {
			text := append([]byte("before it "), bytes.Repeat(unit, n/period+1)[:n]...)
			samples = append(samples, text, append(text[:len(text):len(text)], " and behind"...))
		}
	}
	for i, data := range samples {
		for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, 1, 6, 9} {
			packed := deflate(t, data, level)
			out := make([]byte, len(data))
			require.NoError(t, f.inflate(out, packed), "sample %d, level %d", i, level)
			require.True(t, bytes.Equal(data, out), "sample %d, level %d", i, level)
			if len(data) > 0 {
				require.ErrorContains(t, f.inflate(out[1:], packed), "got more than")
				require.ErrorIs(t, f.inflate(out, packed[:len(packed)/2]), errShort, "sample %d, level %d", i, level)
			}
			require.ErrorContains(t, f.inflate(make([]byte, len(data)+1), packed), fmt.Sprintf("got %d bytes, want %d", len(data), len(data)+1))
		}
	}
}

// bitWriter writes a deflate stream by hand.
type bitWriter struct {
	out  []byte
	used int
}

func (w *bitWriter) bits(v, n int) *bitWriter {
	for i := range n {
		if w.used%8 == 0 {
			w.out = append(w.out, 0)
		}
		w.out[w.used/8] |= byte(v>>i&1) << (w.used % 8)
		w.used++
	}
	return w
}

func TestInflateErrors(t *testing.T) {
	block := func(kind int) *bitWriter { return new(bitWriter).bits(1, 1).bits(kind, 2) }
	for _, tt := range []struct {
		name string
		in   []byte
		want error
	}{
		{"nothing", nil, errShort},
		{"reserved kind", block(3).bits(0, 13).out, errBlock},
		{"stored with a wrong check", block(0).bits(0, 5).bits(5, 16).bits(5, 16).out, errStored},
		{"stored and cut off", block(0).bits(0, 5).bits(5, 16).bits(^5, 16).out, errShort},
		{"stored without a length", block(0).bits(0, 5).bits(5, 8).out, errShort},
		{"too many literals", block(2).bits(30, 5).bits(0, 5).bits(0, 4).bits(0, 64).out, errTree},
		{"too many distances", block(2).bits(0, 5).bits(30, 5).bits(0, 4).bits(0, 64).out, errTree},
		{"oversubscribed", block(2).bits(0, 5).bits(0, 5).bits(0, 4).bits(1, 3).bits(1, 3).bits(1, 3).bits(0, 64).out, errTree},
		{"incomplete", block(2).bits(0, 5).bits(0, 5).bits(0, 4).bits(2, 3).bits(2, 3).bits(0, 3).bits(0, 64).out, errTree},
		{"repeat of nothing", block(2).bits(0, 5).bits(0, 5).bits(0, 4).bits(1, 3).bits(1, 3).bits(0, 6).bits(0, 64).out, errLengths},
		{"repeat past the end", block(2).bits(0, 5).bits(0, 5).bits(0, 4).bits(0, 6).bits(1, 3).bits(1, 3).bits(0x3fffffff, 30).bits(0x3fffffff, 30).out, errLengths},
		{"no code at all", block(2).bits(0, 5).bits(0, 5).bits(0, 4).bits(0, 12).bits(0, 64).out, errCode},
		{"distance before the beginning", block(1).bits(0b0000001>>0<<6>>6, 0).bits(0b1000000, 7).bits(0, 5).bits(0, 30).out, errDist},
		{"a length that does not exist", block(1).bits(0b01100011, 8).bits(0, 40).out, errCode},
		{"a distance that does not exist", block(1).bits(0b10001100, 8).bits(0b1000000, 7).bits(0b01111, 5).bits(0, 40).out, errCode},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f inflater
			err := f.inflate(make([]byte, 600), tt.in)
			assert.ErrorIs(t, err, tt.want)
			_, err = io.ReadAll(flate.NewReader(bytes.NewReader(tt.in)))
			assert.Error(t, err, "compress/flate refuses it too")
		})
	}
}

// FuzzInflate: whatever the bytes are, compress/flate and this agree.
func FuzzInflate(f *testing.F) {
	for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, 1, 9} {
		f.Add(deflate(f, []byte(long[:300]), level))
		f.Add(deflate(f, []byte(strings.Repeat("ab", 500)), level))
	}
	var z inflater
	f.Fuzz(func(t *testing.T, packed []byte) {
		want, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), 1<<20))
		if len(want) == 1<<20 {
			return
		}
		out := make([]byte, len(want))
		mine := z.inflate(out, packed)
		if (err == nil) != (mine == nil) {
			t.Fatalf("got %v, want %v", mine, err)
		}
		if err == nil && !bytes.Equal(want, out) {
			t.Fatalf("got %q, want %q", out, want)
		}
	})
}

// BenchmarkInflate inflates the code records of the archive named by PTZIP_ARCHIVE, here and with compress/flate.
func BenchmarkInflate(b *testing.B) {
	z, raw := packedRecords(b)
	total := int64(0)
	for i := range raw {
		total += z.records[i].size
	}
	out := make([]byte, 1<<20)
	b.Run("here", func(b *testing.B) {
		b.SetBytes(total)
		var f inflater
		for b.Loop() {
			for i, data := range raw {
				require.NoError(b, f.inflate(out[:z.records[i].size], data))
			}
		}
	})
	b.Run("flate", func(b *testing.B) {
		b.SetBytes(total)
		r := flate.NewReader(nil)
		for b.Loop() {
			for i, data := range raw {
				require.NoError(b, r.(flate.Resetter).Reset(bytes.NewReader(data), nil))
				_, err := io.ReadFull(r, out[:z.records[i].size])
				require.NoError(b, err)
			}
		}
	})
}

func packedRecords(b *testing.B) (*Reader, map[int32][]byte) {
	path := os.Getenv("PTZIP_ARCHIVE")
	if path == "" {
		b.Skip("PTZIP_ARCHIVE names no archive")
	}
	f, err := os.Open(path)
	require.NoError(b, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(b, err)
	z, err := Open(f, info.Size())
	require.NoError(b, err)
	raw := map[int32][]byte{}
	for i := range z.records {
		if z.records[i].method == deflated && !IsWeight(z.names[i]) {
			data, err := z.payload(int32(i))
			require.NoError(b, err)
			raw[int32(i)] = data
		}
	}
	return z, raw
}
