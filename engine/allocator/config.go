package allocator

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/units"
)

// Settings is PYTORCH_CUDA_ALLOC_CONF, understood: what bears on device memory. DefaultSettings
// returns PyTorch's.
type Settings struct {
	Backend             string      // native; cudaMallocAsync is refused by Check
	MaxSplitSize        units.Bytes // 0 is no limit
	MaxNonSplitRounding units.Bytes // 0 stands for LargeSegment
	LargeSegment        units.Bytes
	// roundup_power2_divisions, one an interval from 1 MiB to 64 GiB; 0 and 1 round to 512 bytes
	RoundupDivisions [16]int64
	GCThreshold      float64 // 0 is off
	Expandable       bool
	MemoryFraction   float64 // of the device's memory; 1 is no limit
}

// DefaultSettings is what holds without PYTORCH_CUDA_ALLOC_CONF.
func DefaultSettings() Settings {
	return Settings{Backend: "native", LargeSegment: largeBuffer, MemoryFraction: 1}
}

// Check refuses what the simulation does not model, and values no settings text can give.
func (s Settings) Check() error {
	switch {
	case s.Backend != "native":
		return fmt.Errorf("got the allocator backend %q, want native: the driver's own pool is not simulated",
			s.Backend)
	case s.LargeSegment <= minLargeAlloc || s.LargeSegment%units.MiB != 0:
		return fmt.Errorf("got a large segment size of %s, want whole MiB above %s", s.LargeSegment, minLargeAlloc)
	case s.MaxSplitSize != 0 && s.MaxSplitSize < s.LargeSegment:
		return fmt.Errorf("got a max split size of %s, want at least %s", s.MaxSplitSize, s.LargeSegment)
	case s.MemoryFraction < 0 || s.MemoryFraction > 1 || math.IsNaN(s.MemoryFraction):
		return fmt.Errorf("got a memory fraction of %g, want 0 to 1", s.MemoryFraction)
	}
	return nil
}

// round is round_size.
func (s *Settings) round(n units.Bytes) units.Bytes {
	if n < minBlockSize {
		return minBlockSize
	}
	i := min(max(bits.Len64(uint64(n))-21, 0), len(s.RoundupDivisions)-1)
	if d := s.RoundupDivisions[i]; d > 1 && n > minBlockSize.Mul(d) {
		return roundPower2(n, units.Bytes(d))
	}
	return (n + minBlockSize - 1) &^ (minBlockSize - 1)
}

// roundPower2 is roundup_power2_next_division: up to the next of the divisions between two powers
// of two. There are fewer divisions than bytes.
func roundPower2(n, divisions units.Bytes) units.Bytes {
	floor := units.Bytes(1) << (bits.Len64(uint64(n)) - 1)
	if n == floor {
		return n
	}
	return n.RoundUp(floor / divisions)
}

// segmentSize is get_allocation_size.
func (s *Settings) segmentSize(size units.Bytes) units.Bytes {
	switch {
	case size <= smallSize:
		return smallBuffer
	case size < minLargeAlloc:
		return s.LargeSegment
	}
	return size.RoundUp(roundLarge)
}

// setting is one key.
type setting struct {
	key   string
	since platform.Version // the first release that knows it; zero is all
	parse func(*confReader, *Settings) error
}

// settingTable holds the keys of PyTorch 2.0 to 2.15, in alphabetical order. Sources: the headers
// and strings of the published wheels; the error cases were tried on 2.15. large_segment_size_mb is
// read before all others.
var settingTable = []setting{
	{"backend", platform.Version{}, func(r *confReader, s *Settings) error {
		return r.word(&s.Backend, "native", "cudaMallocAsync")
	}},
	{"expandable_segments", platform.Version{}, func(r *confReader, s *Settings) error {
		return r.boolean(&s.Expandable)
	}},
	{"expandable_segments_reserve", platform.Version{Major: 2, Minor: 15}, skipWord},          // address space only
	{"expandable_segments_reserve_by_class", platform.Version{Major: 2, Minor: 15}, skipList}, // address space only
	{"garbage_collection_threshold", platform.Version{}, func(r *confReader, s *Settings) error {
		v, err := r.float()
		if err == nil && !(v > 0 && v < 1) {
			err = fmt.Errorf("got %g, want between 0 and 1", v)
		}
		s.GCThreshold = v
		return err
	}},
	{"graph_capture_record_stream_reuse", platform.Version{Major: 2, Minor: 9}, skipBoolean},
	{"large_segment_size_mb", platform.Version{Major: 2, Minor: 11}, func(r *confReader, s *Settings) error {
		mb, err := r.count()
		if err == nil && mb <= 10 {
			err = fmt.Errorf("got %d, want more than 10", mb)
		}
		return err // its value was taken in the first round
	}},
	{"max_non_split_rounding_mb", platform.Version{Major: 2, Minor: 6}, func(r *confReader, s *Settings) error {
		return r.mebibytes(&s.MaxNonSplitRounding, s.LargeSegment)
	}},
	{"max_split_size_mb", platform.Version{}, func(r *confReader, s *Settings) error {
		return r.mebibytes(&s.MaxSplitSize, s.LargeSegment)
	}},
	{"per_process_memory_fraction", platform.Version{Major: 2, Minor: 10}, func(r *confReader, s *Settings) error {
		v, err := r.float()
		if err == nil && !(v >= 0 && v <= 1) {
			err = fmt.Errorf("got %g, want 0 to 1", v)
		}
		s.MemoryFraction = v
		return err
	}},
	{"pinned_free_catch_all", platform.Version{Major: 2, Minor: 12}, skipBoolean},
	{"pinned_max_cached_size_mb", platform.Version{Major: 2, Minor: 13}, skipCount},
	{"pinned_max_round_threshold_mb", platform.Version{Major: 2, Minor: 13}, skipCount},
	{"pinned_num_register_threads", platform.Version{Major: 2, Minor: 2}, func(r *confReader, _ *Settings) error {
		v, err := r.count()
		if err == nil && (v > 128 || v&(v-1) != 0) {
			err = fmt.Errorf("got %d, want a power of two up to 128", v)
		}
		return err
	}},
	{"pinned_reserve_segment_size_mb", platform.Version{Major: 2, Minor: 10}, skipCount},
	{"pinned_use_background_threads", platform.Version{Major: 2, Minor: 6}, skipBoolean},
	{"pinned_use_cuda_host_register", platform.Version{Major: 2, Minor: 2}, skipBoolean},
	{"pinned_use_hip_host_register", platform.Version{Major: 2, Minor: 2}, skipBoolean},
	{"release_lock_on_cudamalloc", platform.Version{Major: 2, Minor: 2}, skipBoolean},
	{"release_lock_on_hipmalloc", platform.Version{Major: 2, Minor: 2}, skipBoolean},
	{"roundup_power2_divisions", platform.Version{}, func(r *confReader, s *Settings) error {
		return r.divisions(&s.RoundupDivisions)
	}},
	// refuses sooner what would fail later
	{"throw_on_cudamalloc_oom", platform.Version{Major: 2, Minor: 12}, skipBoolean},
}

// ParseSettings reads PYTORCH_CUDA_ALLOC_CONF as a release of torch does; the zero version stands
// for the newest.
func ParseSettings(conf string, torch platform.Version) (Settings, error) {
	s := DefaultSettings()
	large := confReader{tokens: tokens(conf)}
	for i, t := range large.tokens { // large_segment_size_mb sets the least of other keys, wherever it stands
		if t == "large_segment_size_mb" {
			large.at = i
			if mb, err := large.value(); err == nil {
				if n, err := number(mb); err == nil && n > 10 {
					s.LargeSegment = mib(n)
				}
			}
		}
	}
	r := confReader{tokens: large.tokens}
	for ; r.at < len(r.tokens); r.at++ {
		if err := r.setting(&s, torch); err != nil {
			return Settings{}, fmt.Errorf("allocator settings %q: %w", conf, err)
		}
	}
	return s, nil
}

// setting reads one key with its value and the comma after it.
func (r *confReader) setting(s *Settings, torch platform.Version) error {
	key := r.tokens[r.at]
	i, ok := slices.BinarySearchFunc(settingTable, key,
		func(row setting, key string) int { return strings.Compare(row.key, key) })
	if !ok {
		if name, value, ok := strings.Cut(key, "="); ok {
			return fmt.Errorf("got the key %q, want one of PyTorch's: a value stands behind a colon, as in %s:%s", key,
				name, value)
		}
		return fmt.Errorf("got the key %q, want one of PyTorch's", key)
	}
	row := &settingTable[i]
	if !torch.IsZero() && torch.Compare(row.since) < 0 {
		return fmt.Errorf("got the key %q in torch %s, which reads it from %s on", key, torch, row.since)
	}
	if err := row.parse(r, s); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	r.at++
	if r.at < len(r.tokens) && r.tokens[r.at] != "," {
		return fmt.Errorf("got %q after %s, want a comma", r.tokens[r.at], key)
	}
	return nil
}

// confReader walks the tokens, as PyTorch's ConfigTokenizer cuts them.
type confReader struct {
	tokens []string
	at     int // of the key, then of its value's last token
}

// tokens cuts at commas, colons and brackets, which are tokens too, and drops every space.
func tokens(conf string) []string {
	var out []string
	word := strings.Builder{}
	flush := func() {
		if word.Len() > 0 {
			out = append(out, word.String())
			word.Reset()
		}
	}
	for _, c := range conf {
		switch {
		case strings.ContainsRune(",:[]", c):
			flush()
			out = append(out, string(c))
		case !strings.ContainsRune(" \t\n\v\f\r", c):
			word.WriteRune(c)
		}
	}
	flush()
	return out
}

func (r *confReader) peek(n int) string {
	if r.at+n < len(r.tokens) {
		return r.tokens[r.at+n]
	}
	return ""
}

// value moves to the value behind the key's colon.
func (r *confReader) value() (string, error) {
	if r.peek(1) != ":" || r.peek(2) == "" {
		return "", fmt.Errorf("got no value, want one after a colon")
	}
	r.at += 2
	return r.tokens[r.at], nil
}

func (r *confReader) word(to *string, allowed ...string) error {
	v, err := r.value()
	if err == nil && !slices.Contains(allowed, v) {
		err = fmt.Errorf("got %q, want %s", v, strings.Join(allowed, " or "))
	}
	*to = v
	return err
}

func (r *confReader) boolean(to *bool) error {
	var v string
	err := r.word(&v, "True", "False")
	*to = v == "True"
	return err
}

func (r *confReader) count() (uint64, error) {
	v, err := r.value()
	if err != nil {
		return 0, err
	}
	return number(v)
}

// number reads as stoull does: a sign, and digits up to the first other character; a minus wraps
// around.
func number(v string) (uint64, error) {
	digits := v
	if v != "" && (v[0] == '-' || v[0] == '+') {
		digits = v[1:]
	}
	if i := strings.IndexFunc(digits, func(c rune) bool { return c < '0' || c > '9' }); i >= 0 {
		digits = digits[:i]
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("got %q, want a number", v)
	}
	if v[0] == '-' {
		n = -n
	}
	return n, nil
}

func (r *confReader) float() (float64, error) {
	v, err := r.value()
	if err != nil {
		return 0, err
	}
	for n := min(len(v), longestNumber); n > 0; n-- { // as stod does: the longest beginning that is a number
		if f, err := strconv.ParseFloat(v[:n], 64); err == nil {
			return f, nil
		}
	}
	return 0, fmt.Errorf("got %q, want a number", v)
}

// longestNumber is how many characters of a number are looked at.
const longestNumber = 64

// mebibytes reads a size that must not be under the large segment size.
func (r *confReader) mebibytes(to *units.Bytes, least units.Bytes) error {
	mb, err := r.count()
	if err != nil {
		return err
	}
	if *to = mib(mb); *to < least {
		return fmt.Errorf("got %d, want at least %d", mb, least/units.MiB)
	}
	return nil
}

func mib(n uint64) units.Bytes { return units.Bytes(min(n, uint64(units.Max/units.MiB))) * units.MiB }

// divisions reads roundup_power2_divisions: one number for all intervals, or a list of size in MiB
// and number.
func (r *confReader) divisions(to *[16]int64) error {
	v, err := r.value()
	if err != nil {
		return err
	}
	if v != "[" {
		n, err := number(v)
		if err == nil && bits.OnesCount64(n) != 1 {
			err = fmt.Errorf("got %d, want a power of two", n)
		}
		for i := range to {
			to[i] = int64(n)
		}
		return err
	}
	first, last := true, 0
	for r.at++; r.peek(0) != "]"; r.at++ {
		size := r.peek(0)
		n, err := r.pair()
		switch {
		case err != nil:
			return err
		case size == ">":
			for i := last + 1; i < len(to); i++ {
				to[i] = n
			}
		default:
			mb, err := number(size)
			if err != nil || bits.OnesCount64(mb) != 1 {
				return fmt.Errorf("got the size %q, want a power of two of MiB", size)
			}
			last = min(bits.Len64(mb)-1, len(to)-1)
			if first {
				for i := range last {
					to[i] = n
				}
				first = false
			}
			to[last] = n
		}
		if r.peek(1) == "]" {
			r.at++
			break
		}
		if r.at++; r.peek(0) != "," {
			return fmt.Errorf("got %q in the list, want a comma or ]", r.peek(0))
		}
	}
	return nil
}

// pair reads the number behind a list's size.
func (r *confReader) pair() (int64, error) {
	if r.peek(1) != ":" {
		return 0, fmt.Errorf("got %q in the list, want size:divisions", r.peek(0))
	}
	r.at += 2
	n, err := number(r.peek(0))
	if err == nil && n != 0 && bits.OnesCount64(n) != 1 {
		err = fmt.Errorf("got %d divisions, want a power of two or 0", n)
	}
	return int64(n), err
}

func skipBoolean(r *confReader, _ *Settings) error {
	var b bool
	return r.boolean(&b)
}

func skipCount(r *confReader, _ *Settings) error {
	_, err := r.count()
	return err
}

func skipWord(r *confReader, _ *Settings) error {
	_, err := r.value()
	return err
}

func skipList(r *confReader, _ *Settings) error {
	v, err := r.value()
	if err != nil || v != "[" {
		return fmt.Errorf("got %q, want a list", v)
	}
	length := slices.Index(r.tokens[r.at+1:], "]")
	if length < 0 {
		return fmt.Errorf("got no end of the list")
	}
	r.at += 1 + length
	return nil
}
