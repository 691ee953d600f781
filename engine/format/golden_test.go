package format_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/internal/pickle"
	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// Every format of every archive. What is binary is shown as text.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(a *golden.Archive) {
		t := a.T()
		sections := map[string][]byte{}
		cases := readCases(t, a.Input("cases.json"), func(name string) []byte {
			if sections[name] == nil {
				sections[name] = a.Input(name)
			}
			return sections[name]
		})
		o := format.Options{Version: "v0.0.0", Paths: tree("memspec.yaml", "model/net.py")}
		for _, f := range format.Formats() {
			all := cases
			if f.Name == "perfetto" { // one case shows it
				all = cases[:1]
			}
			got := write(t, f, o, all...)
			switch f.Name {
			case "snapshot":
				got = readablePickle(t, got)
			case "html": // the page's own style and script are not the case's
				got = regexp.MustCompile(`(?s)(<style>|<script>).*?(</style>|</script>)`).ReplaceAll(got, []byte("$1…$2"))
				got = regexp.MustCompile(`sha256-.*?&#39;`).ReplaceAll(got, []byte("sha256-…&#39;"))
			case "pprof":
				got = readableProfile(t, got)
			}
			a.Want(f.Name, got)
		}
		var plot bytes.Buffer
		require.NoError(t, format.Plot(&plot, cases[0]))
		a.Want("plot", plot.Bytes())
		for line := range strings.Lines(plot.String()) {
			assert.LessOrEqual(t, utf8.RuneCountInString(line)-1, 80, line)
		}
	})
}

// readablePickle prints a pickle, a line an entry of the lists that snapshots have.
func readablePickle(t testing.TB, data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	v, err := pickle.Decode(data, pickle.Options{})
	require.NoError(t, err)
	var b bytes.Buffer
	printPickle(&b, v, 0)
	b.WriteByte('\n')
	return b.Bytes()
}

func printPickle(b *bytes.Buffer, v any, depth int) {
	indent := "\n" + strings.Repeat("  ", depth+1)
	switch v := v.(type) {
	case *pickle.Dict:
		b.WriteString("{")
		for i, k := range v.Keys {
			if i > 0 {
				b.WriteString(", ")
			}
			if depth == 0 {
				b.WriteString(indent)
			}
			fmt.Fprintf(b, "%v: ", k)
			printPickle(b, v.Values[i], depth+1)
		}
		b.WriteString("}")
	case *pickle.List:
		b.WriteString("[")
		for _, item := range v.Items {
			if d, ok := item.(*pickle.Dict); ok && d.Lookup("filename") == nil {
				b.WriteString(indent)
			} else {
				b.WriteString(" ")
			}
			printPickle(b, item, depth+1)
		}
		b.WriteString("]")
	case string:
		b.WriteString(strconv.Quote(v))
	default:
		fmt.Fprint(b, v)
	}
}

// A field is one of a protocol buffer: a number, or bytes.
type field struct {
	number int
	value  uint64
	bytes  []byte
}

// fields reads a protocol buffer without knowing what it means.
func fields(t testing.TB, b []byte) []field {
	var out []field
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		require.Positive(t, n)
		b = b[n:]
		v, n := binary.Uvarint(b)
		require.Positive(t, n)
		b = b[n:]
		f := field{number: int(key >> 3), value: v}
		switch key & 7 {
		case 0:
		case 2:
			require.LessOrEqual(t, v, uint64(len(b)))
			f.bytes, b = b[:v], b[v:]
		default:
			t.Fatalf("got wire type %d", key&7)
		}
		out = append(out, f)
	}
	return out
}

func packed(t testing.TB, b []byte) []uint64 {
	var out []uint64
	for len(b) > 0 {
		v, n := binary.Uvarint(b)
		require.Positive(t, n)
		out, b = append(out, v), b[n:]
	}
	return out
}

// readableProfile prints a profile: its types, comments, and a line a sample with its stack from the outermost in.
func readableProfile(t testing.TB, data []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	raw, err := io.ReadAll(z)
	require.NoError(t, err)
	top := fields(t, raw)
	var texts []string
	one := func(b []byte) map[int]uint64 {
		m := map[int]uint64{}
		for _, f := range fields(t, b) {
			m[f.number] = f.value
		}
		return m
	}
	functions, locations := map[uint64]string{}, map[uint64]string{}
	for _, f := range top {
		if f.number == 6 {
			texts = append(texts, string(f.bytes))
		}
	}
	for _, f := range top {
		if f.number == 5 {
			m := one(f.bytes)
			functions[m[1]] = strings.TrimSpace(texts[m[2]] + " " + texts[m[4]])
		}
	}
	for _, f := range top {
		if f.number == 4 {
			for _, line := range fields(t, f.bytes) {
				if line.number == 4 {
					m := one(line.bytes)
					locations[one(f.bytes)[1]] = fmt.Sprintf("%s:%d", functions[m[1]], m[2])
				}
			}
		}
	}
	var b bytes.Buffer
	for _, f := range top {
		switch f.number {
		case 1:
			m := one(f.bytes)
			fmt.Fprintf(&b, "type %s %s\n", texts[m[1]], texts[m[2]])
		case 13:
			for _, c := range packed(t, f.bytes) {
				fmt.Fprintf(&b, "comment %s\n", texts[c])
			}
		case 14:
			fmt.Fprintf(&b, "default %s\n", texts[f.value])
		case 2:
			var stack, labels []string
			var values []uint64
			for _, s := range fields(t, f.bytes) {
				switch s.number {
				case 1:
					for _, l := range packed(t, s.bytes) {
						stack = append([]string{locations[l]}, stack...)
					}
				case 2:
					values = packed(t, s.bytes)
				case 3:
					m := one(s.bytes)
					labels = append(labels, texts[m[1]]+"="+texts[m[2]])
				}
			}
			fmt.Fprintf(&b, "sample %v %s [%s]\n", values, strings.Join(stack, ";"), strings.Join(labels, " "))
		}
	}
	return b.Bytes()
}

// TestProfilesAreShort: storages that were made at one place are one sample of a profile, and a
// function that is met again is the same function.
func TestProfilesAreShort(t *testing.T) {
	for _, c := range archiveCases(t, "testdata/rich.txtar") {
		if c.Timeline == nil {
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(write(t, named(t, "pprof"), format.Options{}, c)))
		require.NoError(t, err)
		raw, err := io.ReadAll(z)
		require.NoError(t, err)
		stacks, functions, count := map[string]bool{}, map[[3]uint64]bool{}, uint64(0)
		for _, f := range fields(t, raw) {
			switch f.number {
			case 2:
				var stack string
				for _, part := range fields(t, f.bytes) {
					switch part.number {
					case 1:
						stack = fmt.Sprint(packed(t, part.bytes))
					case 2:
						count += packed(t, part.bytes)[0]
					}
				}
				assert.False(t, stacks[stack], "%s: two samples of the stack %s", c.Name, stack)
				stacks[stack] = true
			case 5:
				var key [3]uint64 // name and file
				for _, part := range fields(t, f.bytes) {
					if part.number == 2 || part.number == 4 {
						key[part.number/2] = part.value
					}
				}
				assert.False(t, functions[key], "%s: two functions %v", c.Name, key)
				functions[key] = true
			}
		}
		assert.EqualValues(t, len(c.Timeline.Held(c.Timeline.Peaks.Allocated.Event)), count, c.Name)
	}
}
