package allocator

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// TestScripts runs testdata/allocator: steps with what they do beside them. MEMSPEC_UPDATE=1 writes
// what they do.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/allocator/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			got := runScript(t, string(want))
			golden.File(t, path, string(got))
		})
	}
}

// script is a run of one file.
type script struct {
	t     *testing.T
	c     Config
	torch platform.Version
	conf  string
	a     *caching
	names map[string]Addr
	seen  []trace.Segment // as they were after the last step, in the order they came
	known map[uint64]int  // numbers of segments by address
	count int
}

func runScript(t *testing.T, text string) []byte {
	s := &script{t: t, names: map[string]Addr{}, known: map[uint64]int{}}
	var out bytes.Buffer
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		step, _, _ := strings.Cut(line, "#")
		step = strings.TrimSpace(step)
		if step == "" || strings.Contains(step, ": ") {
			if key, value, ok := strings.Cut(step, ": "); ok {
				s.setting(key, value)
			}
			fmt.Fprintln(&out, line)
			continue
		}
		fmt.Fprintf(&out, "%-28s # %s\n", step, s.step(step))
	}
	return out.Bytes()
}

func (s *script) setting(key, value string) {
	var err error
	switch key {
	case "settings":
		s.conf = value
	case "torch":
		s.torch, err = platform.ParseVersion(value)
	case "limit":
		s.c.Limit, err = units.Parse(value)
	case "total":
		s.c.Total, err = units.Parse(value)
	default:
		err = fmt.Errorf("got the key %q, want settings, torch, limit or total", key)
	}
	require.NoError(s.t, err)
}

func (s *script) begin() {
	if s.a != nil {
		return
	}
	var err error
	s.c.Settings, err = ParseSettings(s.conf, s.torch)
	require.NoError(s.t, err)
	a, err := New(s.c)
	require.NoError(s.t, err)
	s.a = a.(*caching)
}

// step runs one step and says what it did.
func (s *script) step(step string) string {
	s.begin()
	words := strings.Fields(step)
	before := s.a.Stats()
	var did []string
	switch {
	case len(words) >= 4 && words[1] == "=" && words[2] == "alloc":
		size, err := units.Parse(words[3])
		require.NoError(s.t, err, step)
		stream := 0
		if len(words) == 6 && words[4] == "stream" {
			stream, err = strconv.Atoi(words[5])
			require.NoError(s.t, err, step)
		}
		addr, err := s.a.Malloc(size, stream)
		var oom *OOMError
		switch {
		case errors.As(err, &oom):
			did = append(did, "out of memory at "+oom.Segment.Compact())
		case addr == 0:
			did = append(did, "nothing")
		default:
			did = append(did, "")
			s.names[words[0]] = addr
		}
		did = append(did, s.changes()...)
		if addr != 0 {
			did[0] = fmt.Sprintf("%s takes %s", s.place(addr), (s.a.Stats().Allocated - before.Allocated).Compact())
		}
	case words[0] == "free":
		s.a.Free(s.name(words[1]))
	case words[0] == "free_requested":
		s.a.FreeRequested(s.name(words[1]))
	case words[0] == "free_completed":
		s.a.FreeCompleted(s.name(words[1]))
	case words[0] == "empty_cache":
		s.a.EmptyCache()
	case words[0] == "blocks":
		return s.blocks(words[1])
	default:
		s.t.Fatalf("got %q, want NAME = alloc SIZE, free, free_requested, free_completed, empty_cache or blocks", step)
	}
	if did == nil {
		did = s.changes()
	}
	st := s.a.Stats()
	require.NoError(s.t, Verify(s.a.Snapshot(), st), step)
	if st.Retries > before.Retries {
		did = append(did, "retried")
	}
	sum := "allocated " + st.Allocated.Compact()
	if st.Active != st.Allocated {
		sum += " active " + st.Active.Compact()
	}
	return strings.Join(append(did, sum+" reserved "+st.Reserved.Compact()), "; ")
}

// name returns the address of an allocation.
func (s *script) name(name string) Addr {
	addr, ok := s.names[name]
	require.True(s.t, ok, "got %q, want an allocation", name)
	return addr
}

// changes reports the segments that came, grew, shrank and went.
func (s *script) changes() []string {
	var did []string
	now := s.a.Snapshot().Segments
	had := map[uint64]units.Bytes{}
	for _, seg := range s.seen {
		had[seg.Addr] = seg.Size
	}
	have := map[uint64]bool{}
	for _, seg := range now {
		have[seg.Addr] = true
		pool := "large"
		if seg.Small {
			pool = "small"
		}
		size, ok := had[seg.Addr]
		switch {
		case !ok || size != seg.Size && !seg.Expandable: // another one where one was
			gone := s.known[seg.Addr]
			s.count++
			s.known[seg.Addr] = s.count
			did = append(did, fmt.Sprintf("new s%d %s %s", s.count, seg.Size.Compact(), pool))
			if ok {
				did = append(did, fmt.Sprintf("s%d goes", gone))
			}
		case size < seg.Size:
			did = append(did, fmt.Sprintf("s%d grows to %s", s.known[seg.Addr], seg.Size.Compact()))
		case size > seg.Size:
			did = append(did, fmt.Sprintf("s%d shrinks to %s", s.known[seg.Addr], seg.Size.Compact()))
		}
	}
	for _, seg := range s.seen {
		if !have[seg.Addr] {
			did = append(did, fmt.Sprintf("s%d goes", s.known[seg.Addr]))
		}
	}
	s.seen = now
	return did
}

// place reports an address by its segment.
func (s *script) place(addr Addr) string {
	for _, seg := range s.seen {
		if uint64(addr) >= seg.Addr && uint64(addr) < seg.Addr+uint64(seg.Size) {
			return fmt.Sprintf("s%d+%s", s.known[seg.Addr], units.Bytes(uint64(addr)-seg.Addr).Compact())
		}
	}
	return "nowhere"
}

// blocks reports the blocks of a segment; free ones stand in parentheses, those awaiting another
// stream in brackets.
func (s *script) blocks(name string) string {
	for _, seg := range s.seen {
		if fmt.Sprintf("s%d", s.known[seg.Addr]) != name {
			continue
		}
		var out []string
		for _, b := range seg.Blocks {
			form := map[trace.BlockState]string{trace.Inactive: "(%s)", trace.ActiveAllocated: "%s",
				trace.ActiveAwaitingFree: "[%s]"}[b.State]
			out = append(out, fmt.Sprintf(form, b.Size.Compact()))
		}
		return strings.Join(out, " ")
	}
	return "nowhere"
}
