package golden

import (
	"fmt"
	"strings"
	"testing"
)

// DamageBytes says what a reader says to bytes of which one is another, for each byte, and to what
// is left of them when they end early. Neighbours of which the same is said are reported together;
// what changes nothing is not known.
func DamageBytes(t testing.TB, data []byte, read Reader) string {
	t.Helper()
	whole, err := read(string(data))
	if err != nil {
		t.Fatalf("the bytes as they are: %v", err)
	}
	var out strings.Builder
	for _, change := range []struct {
		what string
		make func(b byte) byte
	}{
		{"one more", func(b byte) byte { return b + 1 }},
		{"one less", func(b byte) byte { return b - 1 }},
		{"0", func(byte) byte { return 0 }},
		{"255", func(byte) byte { return 255 }},
	} {
		var run stretch
		for i, b := range data {
			said := ""
			if c := change.make(b); c != b {
				damaged := []byte(string(data))
				damaged[i] = c
				said = outcome(string(damaged), whole, read)
			}
			run.add(&out, i, change.what, said)
		}
		run.add(&out, len(data), "", "")
	}
	var run stretch
	for i := range data {
		run.add(&out, i, "not there, nor what follows", outcome(string(data[:i]), whole, read))
	}
	run.add(&out, len(data), "", "")
	return out.String()
}

// A stretch is neighbouring bytes of which the same is said.
type stretch struct {
	from       int
	what, said string
}

func (s *stretch) add(out *strings.Builder, i int, what, said string) {
	if s.said == said {
		return
	}
	if s.said != "" {
		place := fmt.Sprint(s.from)
		if i > s.from+1 {
			place = fmt.Sprintf("%d to %d", s.from, i-1)
		}
		fmt.Fprintf(out, "%s %s: %s\n", place, s.what, s.said)
	}
	*s = stretch{i, what, said}
}
