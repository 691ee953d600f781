package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// choice is a line of testdata/aten/<torch>/choices: a call in words, and what PyTorch chose on
// each card.
type choice struct {
	line   string
	words  map[string]string // flags have the value "true"
	dtype  tensor.DType
	chosen []string
}

func (c *choice) ints(t *testing.T, key string) []int64 {
	t.Helper()
	var out []int64
	for f := range strings.SplitSeq(c.words[key], ",") {
		n, err := strconv.ParseInt(f, 10, 64)
		require.NoError(t, err, c.line)
		out = append(out, n)
	}
	return out
}

func (c *choice) int(t *testing.T, key string, other int64) int64 {
	if c.words[key] == "" {
		return other
	}
	return c.ints(t, key)[0]
}

// choices reads a table and its cards.
func choices(t *testing.T, torch, name string) (cards []*platform.Platform, calls []choice) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "aten", torch, "choices", name+".txt"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		key, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case line[0] == '#':
		case key == "cards":
			for card := range strings.FieldsSeq(rest) {
				_, device, _ := strings.Cut(card, ":")
				cards = append(cards, on(t, device, torch))
			}
		default:
			require.True(t, ok, line)
			words := strings.Fields(key)
			d, err := tensor.ParseDType(words[0])
			require.NoError(t, err, line)
			c := choice{line: key, words: map[string]string{}, dtype: d, chosen: strings.Fields(rest)}
			if len(c.chosen) == 1 {
				c.chosen = slices.Repeat(c.chosen, len(cards))
			}
			require.Len(t, c.chosen, len(cards), line)
			for _, w := range words[1:] {
				name, value, has := strings.Cut(w, "=")
				if !has {
					value = "true"
				}
				c.words[name] = value
			}
			calls = append(calls, c)
		}
	}
	require.NotEmpty(t, calls)
	return cards, calls
}

// TestAttentionChoices compares the choice of a backend with PyTorch's own on a card of each
// compute capability, in three releases.
func TestAttentionChoices(t *testing.T) {
	for _, torch := range []string{"2.10", "2.11", "2.15"} {
		t.Run(torch, func(t *testing.T) {
			cards, calls := choices(t, torch, "attention")
			for _, c := range calls {
				a := attentionOf(t, &c, torch)
				var got []string
				for _, card := range cards {
					p := *card
					p.Deterministic = c.words["deterministic"] != ""
					b, err := a.Backend(&p)
					require.NoError(t, err)
					got = append(got, b.String())
				}
				assert.Equal(t, strings.Join(c.chosen, " "), strings.Join(got, " "), c.line)
			}
		})
	}
}

// TestForcedAttention holds which backend runs a call where it alone may be chosen against PyTorch
// under torch.nn.attention.sdpa_kernel.
func TestForcedAttention(t *testing.T) {
	cards, calls := choices(t, "2.15", "attention_forced")
	for _, c := range calls {
		a := attentionOf(t, &c, "2.15")
		var got []string
		for _, card := range cards {
			p, takes := *card, ""
			p.Deterministic = c.words["deterministic"] != ""
			for _, b := range []platform.SDPABackend{platform.SDPAFlash, platform.SDPAEfficient, platform.SDPACuDNN} {
				p.Attention = 1 << b
				if chosen, err := a.Backend(&p); err == nil {
					assert.Equal(t, b, chosen)
					takes += b.String()[:1]
				}
			}
			if takes == "" {
				takes = "-"
			}
			got = append(got, takes)
		}
		assert.Equal(t, strings.Join(c.chosen, " "), strings.Join(got, " "), c.line)
	}
}

func attentionOf(t *testing.T, c *choice, torch string) *Attention {
	made := func(key string) *tensor.Meta {
		m := dense(c.dtype, tensor.Contiguous, c.ints(t, key)...)
		if c.words["strides"] != "" {
			m.Strides = c.ints(t, "strides")
		}
		if len(m.Sizes) == 3 && torch == "2.15" { // PyTorch gives it a batch of 1 first
			m = dense(c.dtype, tensor.Contiguous, append([]int64{1}, m.Sizes...)...)
		}
		return m
	}
	a := &Attention{Query: made("q"), Key: made("k"), Value: made("v"), Causal: c.words["causal"] != "",
		Grouped: c.words["gqa"] != ""}
	if p := c.words["dropout"]; p != "" {
		var err error
		a.Dropout, err = strconv.ParseFloat(p, 64)
		require.NoError(t, err)
	}
	if c.words["mask"] != "" {
		a.Mask = dense(c.dtype, tensor.Contiguous, c.ints(t, "mask")...)
	}
	return a
}

// TestConvChoices holds which kernel a convolution goes to against PyTorch's own choice.
func TestConvChoices(t *testing.T) {
	backends := map[string]ConvBackend{
		"Empty": ConvEmpty, "CudaDepthwise2d": ConvDepthwise, "CudaDepthwise3d": ConvDepthwise, "Cudnn": ConvCuDNN,
		"CudnnTranspose": ConvCuDNN,
		"Slow2d":         ConvColumns, "SlowDilated2d": ConvColumns, "SlowDilated3d": ConvColumns,
		"SlowTranspose2d": ConvColumns,
		"SlowTranspose3d": ConvColumns,
	}
	cards, calls := choices(t, "2.15", "convolution")
	for _, c := range calls {
		format := tensor.Contiguous
		x := c.ints(t, "x")
		if c.words["last"] != "" {
			format = map[int]tensor.MemoryFormat{4: tensor.ChannelsLast, 5: tensor.ChannelsLast3d}[len(x)]
		}
		all := func(n int64) []int64 { return slices.Repeat([]int64{n}, len(x)-2) }
		v := &Convolution{
			Input: dense(c.dtype, format, x...), Weight: dense(c.dtype, format, c.ints(t, "w")...),
			Stride: all(c.int(t, "stride", 1)), Padding: all(0), Dilation: all(c.int(t, "dilation", 1)),
			OutputPadding: all(c.int(t, "output_padding", 0)),
			Groups:        c.int(t, "groups", 1), Transposed: c.words["transposed"] != "", CuDNNOff: c.words["off"] != "",
		}
		if len(x) == 3 {
			v = v.As2d()
		}
		for i, card := range cards {
			want, ok := backends[c.chosen[i]]
			require.True(t, ok, c.chosen[i])
			assert.Equal(t, want, v.Backend(card, v.Input.Sizes), "%s on %s: %s", c.line, card.Device.Name, c.chosen[i])
		}
	}
}
