package allocator

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/units"
)

// settingsCase is a settings text with what becomes of it; err is the error behind the text.
type settingsCase struct {
	conf string
	set  func(*Settings)
	err  string
}

func unchanged(*Settings) {}

func divisions(values ...int64) func(*Settings) {
	return func(s *Settings) { copy(s.RoundupDivisions[:], values) }
}

func repeat(v int64, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// settingsCases were all tried on torch 2.15: what has an err here is refused there, and nothing
// else. TestSettingsOfPyTorch tries them again.
var settingsCases = []settingsCase{
	{"", unchanged, ""},
	{" ", unchanged, ""},
	{"max_split_size_mb:128", func(s *Settings) { s.MaxSplitSize = 128 << 20 }, ""},
	{" max_split_size_mb : 12 8 ,", func(s *Settings) { s.MaxSplitSize = 128 << 20 }, ""},
	{"max_split_size_mb:128abc", func(s *Settings) { s.MaxSplitSize = 128 << 20 }, ""},
	{"max_split_size_mb:20", func(s *Settings) { s.MaxSplitSize = 20 << 20 }, ""},
	{"max_split_size_mb:19", nil, "max_split_size_mb: got 19, want at least 20"},
	{"max_split_size_mb:1.5", nil, "max_split_size_mb: got 1, want at least 20"},
	{"max_split_size_mb:0x20", nil, "max_split_size_mb: got 0, want at least 20"},
	{"max_split_size_mb:-1", func(s *Settings) { s.MaxSplitSize = (units.Max / units.MiB) * units.MiB }, ""},
	{"max_split_size_mb:17592186044416", func(s *Settings) { s.MaxSplitSize = (units.Max / units.MiB) * units.MiB }, ""},
	{"max_split_size_mb:99999999999999999999", nil, `max_split_size_mb: got "99999999999999999999", want a number`},
	{"max_split_size_mb", nil, "max_split_size_mb: got no value, want one after a colon"},
	{"max_split_size_mb:", nil, "max_split_size_mb: got no value, want one after a colon"},
	{"max_split_size_mb=128", nil, `got the key "max_split_size_mb=128", want one of PyTorch's: a value stands behind a ` +
		"colon, as in max_split_size_mb:128"},
	{"max_split_size_mb:128,,", nil, `got the key ",", want one of PyTorch's`},
	{"max_split_size_mb:128;expandable_segments:True", nil, `got ":" after max_split_size_mb, want a comma`},
	{"max_non_split_rounding_mb:21", func(s *Settings) { s.MaxNonSplitRounding = 21 << 20 }, ""},
	{"max_non_split_rounding_mb:19", nil, "max_non_split_rounding_mb: got 19, want at least 20"},
	{"large_segment_size_mb:11", func(s *Settings) { s.LargeSegment = 11 << 20 }, ""},
	{"large_segment_size_mb:10", nil, "large_segment_size_mb: got 10, want more than 10"},
	{"max_split_size_mb:32,large_segment_size_mb:64", nil, "max_split_size_mb: got 32, want at least 64"},
	{"large_segment_size_mb:64,max_non_split_rounding_mb:32", nil, "max_non_split_rounding_mb: got 32, want at least 64"},
	{"large_segment_size_mb:64,max_split_size_mb:64", func(s *Settings) {
		s.LargeSegment, s.MaxSplitSize = 64<<20, 64<<20
	}, ""},
	{"garbage_collection_threshold:0.8", func(s *Settings) { s.GCThreshold = 0.8 }, ""},
	{"garbage_collection_threshold:5e-1", func(s *Settings) { s.GCThreshold = 0.5 }, ""},
	{"garbage_collection_threshold:.5", func(s *Settings) { s.GCThreshold = 0.5 }, ""},
	{"garbage_collection_threshold:0.5x", func(s *Settings) { s.GCThreshold = 0.5 }, ""},
	{"garbage_collection_threshold:+0.5", func(s *Settings) { s.GCThreshold = 0.5 }, ""},
	{"garbage_collection_threshold:nan", nil, "garbage_collection_threshold: got NaN, want between 0 and 1"},
	{"max_split_size_mb:+30", func(s *Settings) { s.MaxSplitSize = 30 * units.MiB }, ""},
	{"max_split_size_mb:+", nil, `max_split_size_mb: got "+", want a number`},
	{"max_split_size_mb:+-3", nil, `max_split_size_mb: got "+-3", want a number`},
	{"garbage_collection_threshold", nil, "garbage_collection_threshold: got no value, want one after a colon"},
	{"roundup_power2_divisions", nil, "roundup_power2_divisions: got no value, want one after a colon"},
	{"garbage_collection_threshold:0", nil, "garbage_collection_threshold: got 0, want between 0 and 1"},
	{"garbage_collection_threshold:1.0", nil, "garbage_collection_threshold: got 1, want between 0 and 1"},
	{"garbage_collection_threshold:abc", nil, `garbage_collection_threshold: got "abc", want a number`},
	{"expandable_segments:True", func(s *Settings) { s.Expandable = true }, ""},
	{"expandable_segments:True,expandable_segments:False", unchanged, ""},
	{"expandable_segments:true", nil, `expandable_segments: got "true", want True or False`},
	{"expandable_segments:1", nil, `expandable_segments: got "1", want True or False`},
	{"roundup_power2_divisions:4", divisions(repeat(4, 16)...), ""},
	{"roundup_power2_divisions:1", divisions(repeat(1, 16)...), ""},
	{"roundup_power2_divisions:3", nil, "roundup_power2_divisions: got 3, want a power of two"},
	{"roundup_power2_divisions:0", nil, "roundup_power2_divisions: got 0, want a power of two"},
	{"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", divisions(1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8), ""},
	{"roundup_power2_divisions:[256:0]", unchanged, ""},
	{"roundup_power2_divisions:[1:2,64:4,]", divisions(2, 0, 0, 0, 0, 0, 4), ""},
	{"roundup_power2_divisions:[]", unchanged, ""},
	{"roundup_power2_divisions:[>:8]", divisions(append([]int64{0}, repeat(8, 15)...)...), ""},
	{"roundup_power2_divisions:[131072:2]", divisions(repeat(2, 16)...), ""},
	{"roundup_power2_divisions:[3:2]", nil, `roundup_power2_divisions: got the size "3", want a power of two of MiB`},
	{"roundup_power2_divisions:[0:2]", nil, `roundup_power2_divisions: got the size "0", want a power of two of MiB`},
	{"roundup_power2_divisions:[256:3]", nil, "roundup_power2_divisions: got 3 divisions, want a power of two or 0"},
	{"roundup_power2_divisions:[256:2", nil, `roundup_power2_divisions: got "" in the list, want a comma or ]`},
	{"roundup_power2_divisions:[256:2,max_split_size_mb:64", nil,
		`roundup_power2_divisions: got the size "max_split_size_mb", want a power of two of MiB`},
	{"roundup_power2_divisions:[256]", nil, `roundup_power2_divisions: got "256" in the list, want size:divisions`},
	{"backend:native,backend:native", unchanged, ""},
	{"backend:foo", nil, `backend: got "foo", want native or cudaMallocAsync`},
	{"per_process_memory_fraction:0.5", func(s *Settings) { s.MemoryFraction = 0.5 }, ""},
	{"per_process_memory_fraction:1.5", nil, "per_process_memory_fraction: got 1.5, want 0 to 1"},
	{"release_lock_on_cudamalloc:True,pinned_use_cuda_host_register:True,pinned_num_register_threads:8,pinned_use_background_threads:True", unchanged, ""},
	{"release_lock_on_hipmalloc:True,pinned_use_hip_host_register:True", unchanged, ""},
	{"pinned_num_register_threads:3", nil, "pinned_num_register_threads: got 3, want a power of two up to 128"},
	{"graph_capture_record_stream_reuse:True,pinned_reserve_segment_size_mb:10,throw_on_cudamalloc_oom:True,pinned_free_catch_all:True", unchanged, ""},
	{"pinned_max_round_threshold_mb:1,pinned_max_cached_size_mb:1,expandable_segments_reserve:2G", unchanged, ""},
	{"expandable_segments_reserve_by_class:1", nil, `expandable_segments_reserve_by_class: got "1", want a list`},
	{"expandable_segments_reserve_by_class:[a:1,b:2],max_split_size_mb:128",
		func(s *Settings) { s.MaxSplitSize = 128 << 20 }, ""},
	{"expandable_segments_reserve_by_class:[]", unchanged, ""},
	{"expandable_segments_reserve_by_class:[a:1", nil, "expandable_segments_reserve_by_class: got no end of the list"},
	{"foo:1", nil, `got the key "foo", want one of PyTorch's`},
	{"roundup_bypass_threshold_mb:1", nil, `got the key "roundup_bypass_threshold_mb", want one of PyTorch's`},
	{"[", nil, `got the key "[", want one of PyTorch's`},
}

func TestParseSettings(t *testing.T) {
	for _, tt := range settingsCases {
		got, err := ParseSettings(tt.conf, platform.Version{})
		if tt.err != "" {
			assert.EqualError(t, err, fmt.Sprintf("allocator settings %q: %s", tt.conf, tt.err))
			continue
		}
		require.NoError(t, err, tt.conf)
		want := DefaultSettings()
		tt.set(&want)
		assert.Equal(t, want, got, tt.conf)
		assert.NoError(t, got.Check(), tt.conf)
	}
}

// TestSettingsOfPyTorch: PyTorch's own parser takes and refuses the same texts. It needs no GPU;
// MEMSPEC_PYTHON names a Python with torch.
func TestSettingsOfPyTorch(t *testing.T) {
	python := os.Getenv("MEMSPEC_PYTHON")
	if python == "" {
		t.Skip("MEMSPEC_PYTHON names no Python with torch")
	}
	var confs []string
	for _, tt := range settingsCases {
		confs = append(confs, tt.conf)
	}
	const program = `
import os, sys, torch
for conf in sys.stdin.read().split("\n"):
    if os.fork() == 0:  # a parser that keeps what it parsed: each text in a process of its own
        try:
            torch._C._accelerator_setAllocatorSettings(conf)
            print("taken", flush=True)
        except Exception:
            print("refused", flush=True)
        os._exit(0)
    os.wait()
`
	cmd := exec.Command(python, "-c", program)
	cmd.Stdin = strings.NewReader(strings.Join(confs, "\n"))
	out, err := cmd.Output()
	require.NoError(t, err)
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, answers, len(confs))
	for i, tt := range settingsCases {
		assert.Equal(t, tt.err == "", answers[i] == "taken", "%q: PyTorch has it %s", tt.conf, answers[i])
	}
}

// TestSettingsByRelease: a key is refused by releases that do not know it, as they do.
func TestSettingsByRelease(t *testing.T) {
	for _, tt := range []struct{ conf, torch, err string }{
		{"large_segment_size_mb:64", "2.11", ""},
		{"large_segment_size_mb:64", "2.10.1",
			`got the key "large_segment_size_mb" in torch 2.10.1, which reads it from 2.11 on`},
		{"max_non_split_rounding_mb:64", "2.6", ""},
		{"max_non_split_rounding_mb:64", "2.5", "reads it from 2.6 on"},
		{"per_process_memory_fraction:0.5", "2.9.1", "reads it from 2.10 on"},
		{"throw_on_cudamalloc_oom:True", "2.12", ""},
		{"pinned_max_cached_size_mb:5", "2.12", "reads it from 2.13 on"},
		{"expandable_segments_reserve:0.5", "2.14", "reads it from 2.15 on"},
		{"expandable_segments:True", "2.4", ""},
	} {
		torch, err := platform.ParseVersion(tt.torch)
		require.NoError(t, err)
		_, err = ParseSettings(tt.conf, torch)
		if tt.err == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, tt.err)
		}
	}
}

// TestEveryKeysRelease: the release that first read each key, as PyTorch's history has it
// (c10/cuda/CUDAAllocatorConfig, c10/core/AllocatorConfig).
func TestEveryKeysRelease(t *testing.T) {
	since := map[string]string{
		"expandable_segments_reserve":          "2.15",
		"expandable_segments_reserve_by_class": "2.15",
		"graph_capture_record_stream_reuse":    "2.9",
		"large_segment_size_mb":                "2.11",
		"max_non_split_rounding_mb":            "2.6",
		"per_process_memory_fraction":          "2.10",
		"pinned_free_catch_all":                "2.12",
		"pinned_max_cached_size_mb":            "2.13",
		"pinned_max_round_threshold_mb":        "2.13",
		"pinned_num_register_threads":          "2.2",
		"pinned_reserve_segment_size_mb":       "2.10",
		"pinned_use_background_threads":        "2.6",
		"pinned_use_cuda_host_register":        "2.2",
		"pinned_use_hip_host_register":         "2.2",
		"release_lock_on_cudamalloc":           "2.2",
		"release_lock_on_hipmalloc":            "2.2",
		"throw_on_cudamalloc_oom":              "2.12",
	}
	for _, row := range settingTable {
		want, ok := since[row.key]
		if !ok {
			want = "0.0"
		}
		v, err := platform.ParseVersion(want)
		require.NoError(t, err)
		assert.Equal(t, []int{v.Major, v.Minor}, []int{row.since.Major, row.since.Minor}, row.key)
		delete(since, row.key)
	}
	assert.Empty(t, since, "keys that no row has")
}

func TestSettingTableIsSorted(t *testing.T) {
	for i := 1; i < len(settingTable); i++ {
		assert.Less(t, settingTable[i-1].key, settingTable[i].key)
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		set  func(*Settings)
		want string
	}{
		{func(s *Settings) {
			s.Backend = "cudaMallocAsync"
		}, `got the allocator backend "cudaMallocAsync", want native: the driver's own pool is not simulated`},
		{func(s *Settings) { s.LargeSegment = 10 << 20 }, "got a large segment size of 10.0 " +
			"MiB, want whole MiB above 10.0 MiB"},
		{func(s *Settings) { s.MaxSplitSize = 5 }, "got a max split size of 5 B, want at least 20.0 MiB"},
		{func(s *Settings) { s.LargeSegment = 25 << 19 }, "got a large segment size of 12.5 MiB, want whole MiB above " +
			"10.0 MiB"},
		{func(s *Settings) { s.LargeSegment = 11 << 20 }, ""},
		{func(s *Settings) { s.MaxSplitSize = 20<<20 - 1 }, "got a max split size of 20.0 MiB, want at least 20.0 MiB"},
		{func(s *Settings) { s.MaxSplitSize = 20 << 20 }, ""},
		{func(s *Settings) { s.MemoryFraction = 1.5 }, "got a memory fraction of 1.5, want 0 to 1"},
		{func(s *Settings) { s.MemoryFraction = -0.5 }, "got a memory fraction of -0.5, want 0 to 1"},
		{func(s *Settings) { s.MemoryFraction = math.NaN() }, "got a memory fraction of NaN, want 0 to 1"},
		{func(s *Settings) { s.MemoryFraction = 0 }, ""},
	} {
		s := DefaultSettings()
		tt.set(&s)
		_, err := New(Config{Settings: s})
		if tt.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, tt.want)
	}
}

// TestRound holds the test vectors of the rounding rule.
func TestRound(t *testing.T) {
	plain := DefaultSettings()
	four, err := ParseSettings("roundup_power2_divisions:4", platform.Version{})
	require.NoError(t, err)
	big, err := ParseSettings("roundup_power2_divisions:[1:1024]", platform.Version{})
	require.NoError(t, err)
	for _, tt := range []struct {
		s       *Settings
		n, want units.Bytes
		why     string
	}{
		{&plain, 1, 512, ""},
		{&plain, 512, 512, ""},
		{&plain, 513, 1024, ""},
		{&plain, 1048577, 1049088, ""},
		{&four, 1200, 1536, "up to 512 bytes times the divisions the plain rule holds"},
		{&four, 2048, 2048, ""},
		{&four, 2049, 2560, ""},
		{&four, 1228800, 1310720, ""},
		{&four, 100000001, 100663296, ""},
		{&four, 1 << 40, 1 << 40, "beyond 64 GiB the last entry holds"},
		{&four, 1<<40 + 1, 1<<40 + 1<<38, ""},
		{&big, 1<<20 + 1, 1<<20 + 1024, ""},
	} {
		assert.Equal(t, tt.want, tt.s.round(tt.n), "%d %s", tt.n, tt.why)
	}
	for n, want := range map[units.Bytes]units.Bytes{512: 2 << 20, 1 << 20: 2 << 20, 1<<20 + 512: 20 << 20,
		10<<20 - 512: 20 << 20, 10 << 20: 10 << 20,
		10<<20 + 512: 12 << 20, 32 << 20: 32 << 20} {
		assert.Equal(t, want, plain.segmentSize(n))
	}
}

func FuzzParseSettings(f *testing.F) {
	for _, tt := range settingsCases {
		f.Add(tt.conf)
	}
	f.Fuzz(func(t *testing.T, conf string) {
		s, err := ParseSettings(conf, platform.Version{})
		if err == nil && s.Backend == "native" {
			require.NoError(t, s.Check(), conf)
		}
	})
}
