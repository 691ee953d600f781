package workspace

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// answer is one of cuDNN's answers in the repository, with the convolution as memspec sees it.
type answer struct {
	by        profile.Answerer
	direction string
	layout    string
	fitted    bool // the formula's limits were chosen on it
	conv      *Convolution
	out       []int64
	platform  *platform.Platform
	bytes     int64
}

func (a *answer) key() string {
	return strings.Join([]string{a.by.Version, a.by.Class, a.conv.Call(a.platform, a.out).Key()}, " ")
}

// classDevices has a device for each device class, with torch releases for the versions of cuDNN.
var (
	classDevices = map[string]string{
		"sm70": "v100-16gb", "sm75-small": "t4", "sm75-large": "rtx-2080-ti", "sm80": "a100-sxm-80gb", "sm86": "rtx-3090",
		"sm87": "jetson-agx-orin-64gb", "sm89": "rtx-4090", "sm90": "h100-sxm-80gb", "sm100": "b200", "sm120": "rtx-5090",
	}
	cuDNNReleases = map[string]string{"9.10.2": "2.10", "9.26.0": "2.15"}
	convDTypes    = map[string]tensor.DType{
		"float64": tensor.Float64, "float32": tensor.Float32, "float16": tensor.Float16, "bfloat16": tensor.BFloat16,
	}
)

// known collects answers, each once; two different ones to a call are an error.
type known struct {
	t         *testing.T
	platforms map[profile.Answerer]*platform.Platform
	answers   []*answer
	seen      map[string]int64
}

func (k *known) platformOf(by profile.Answerer, tf32 bool) *platform.Platform {
	p := k.platforms[by]
	if p == nil {
		require.Contains(k.t, classDevices, by.Class)
		p = on(k.t, classDevices[by.Class], cuDNNReleases[by.Version])
		require.Equal(k.t, by, p.Answerer())
		k.platforms[by] = p
	}
	q := *p
	q.TF32CuDNN = tf32
	return &q
}

// add takes an answer to a convolution in a direction, unless PyTorch runs it without cuDNN.
func (k *known) add(by profile.Answerer, direction string, v *Convolution, tf32, fitted bool, bytes int64) {
	p, out := k.platformOf(by, tf32), rowOut(v)
	if v.Backend(p, out) != ConvCuDNN {
		return
	}
	a := &answer{by: by, direction: direction, layout: "contiguous", fitted: fitted, platform: p, bytes: bytes}
	if v.Format() != tensor.Contiguous {
		a.layout = "channels last"
	}
	a.conv, a.out = v.towards(direction, out)
	before, twice := k.seen[a.key()]
	if twice {
		require.Equal(k.t, before, bytes, a.key())
		return
	}
	k.seen[a.key()] = bytes
	k.answers = append(k.answers, a)
}

// shareOfAnswers: of each group of answers a plain go test takes one of so many, from the first.
const shareOfAnswers = 8

func inShare(i int) bool { return i%shareOfAnswers == 0 || golden.Whole() }

// lines takes a file of convolutions as lines and answers as "bytes/engine", or - where there is
// none.
func (k *known) lines(by profile.Answerer, direction, dtype, layout string, lines, answers []string, fitted bool) {
	require.Len(k.t, answers, len(lines))
	for i, line := range lines {
		if answers[i] == "-" || !inShare(i) {
			continue
		}
		bytes, _, _ := strings.Cut(answers[i], "/")
		n, err := strconv.ParseInt(bytes, 10, 64)
		require.NoError(k.t, err)
		f := tensor.Contiguous
		if layout == "channels_last" {
			f = channelsLast(rowSizes(k.t, line[:strings.Index(line, " ")]))
		}
		k.add(by, direction, rowConv(k.t, line, convDTypes[dtype], f), true, fitted, n)
	}
}

func (k *known) profile(path ...string) {
	asked, err := profile.Load(filepath.Join(append([]string{"..", ".."}, path...)...))
	require.NoError(k.t, err)
	for _, g := range asked.Groups() {
		by := profile.Answerer{Library: g.Library, Version: g.Version, Class: g.Class}
		if g.Library != "cudnn" || g.Class == "sm70" && g.Version != "9.10.2" {
			continue
		}
		for i := range g.Entries {
			e := &g.Entries[i]
			if e.Op != "conv" || e.Benchmark || e.Deterministic || !inShare(i) {
				continue
			}
			f := tensor.Contiguous
			if !slices.Equal(e.InputStrides, tensor.FormatStrides(e.Input, f)) ||
				!slices.Equal(e.WeightStrides, tensor.FormatStrides(e.Weight, f)) {
				f = channelsLast(e.Input)
			}
			d := convDTypes[e.DType]
			k.add(by, e.Direction, &Convolution{
				Input: dense(d, f, e.Input...), Weight: dense(d, f, e.Weight...), Stride: e.Stride, Padding: e.Padding,
				Dilation:      e.Dilation,
				OutputPadding: make([]int64, len(e.Stride)), Groups: e.Groups,
			}, e.AllowTF32, slices.Contains(path, "peaks.workspace.json"), int64(e.Bytes))
		}
	}
}

func channelsLast(sizes []int64) tensor.MemoryFormat {
	if len(sizes) == 5 {
		return tensor.ChannelsLast3d
	}
	return tensor.ChannelsLast
}

// knownAnswers are the answers of the repository (testdata/workspace/README.md), read once.
func knownAnswers(t *testing.T) []*answer {
	t.Helper()
	if allAnswers == nil {
		allAnswers = readAnswers(t)
	}
	return allAnswers
}

var allAnswers []*answer

func readAnswers(t *testing.T) []*answer {
	t.Helper()
	k := &known{t: t, platforms: map[profile.Answerer]*platform.Platform{}, seen: map[string]int64{}}
	rows := readRows(t)
	for name, groups := range rows.Answers {
		version, direction, _ := strings.Cut(name, " ")
		for group, answers := range groups {
			f := strings.Fields(group) // class, dtype, layout
			by := profile.Answerer{Library: "cudnn", Version: version, Class: f[0]}
			k.lines(by, cmp.Or(direction, "forward"), f[1], f[2], rows.Convolutions, answers, true)
		}
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "workspace", "models.json"))
	require.NoError(t, err)
	var models struct {
		Fitted  []string
		HeldOut []string `json:"held_out"`
		Answers map[string]string
	}
	require.NoError(t, json.Unmarshal(data, &models))
	for group, text := range models.Answers {
		f, answers := strings.Fields(group), strings.Fields(text) // version, class, dtype, layout, direction
		by := profile.Answerer{Library: "cudnn", Version: f[0], Class: f[1]}
		n := len(models.Fitted)
		require.Len(t, answers, n+len(models.HeldOut))
		k.lines(by, f[4], f[2], f[3], models.Fitted, answers[:n], f[1] != "sm120")
		k.lines(by, f[4], f[2], f[3], models.HeldOut, answers[n:], false)
	}
	k.profile("testdata", "workspace", "peaks.workspace.json")
	k.profile("testdata", "workspace", "kinds.workspace.json")
	k.profile("memspec.workspace.json")
	k.profile("testdata", "compiled", "memspec.workspace.json")
	k.profile("testdata", "conformance", "2.15-exported", "memspec.workspace.json")
	return k.answers
}
