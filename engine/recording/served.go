package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/units"
)

// Served is the start of an engine that serves a model, as python -m memshim serve records it: the
// engine's own figures (pyshim/src/memshim/schemas/serving.schema.json).
type Served struct {
	Schema   int            `json:"schema"`
	Engine   ServedEngine   `json:"engine"`
	Command  []string       `json:"command"`
	Model    string         `json:"model"`
	MadeUp   []string       `json:"made_up"`
	Defaults []string       `json:"defaults"` // what the engine chose, as the command does not say it
	Device   ServedDevice   `json:"device"`
	Fits     *bool          `json:"fits"`
	Driver   ServedDriver   `json:"driver"`
	Workers  []ServedWorker `json:"workers"` // one a GPU
	KV       *ServedCache   `json:"kv"`      // nil where it does not fit
	Error    *ServedError   `json:"error"`   // why it does not fit
	Torch    string         `json:"torch"`
	Made     *Made          `json:"made"` // nil where nothing records what it was made from
}

// ServedEngine is who served.
type ServedEngine struct {
	Name    string `json:"name"`
	Release string `json:"release"`
}

// ServedDevice is the pretend GPU, Count of them.
type ServedDevice struct {
	Name       string      `json:"name"`
	DriverName string      `json:"driver_name"`
	Memory     units.Bytes `json:"memory"`
	Count      int         `json:"count"`
}

// ServedDriver is what the driver takes of a GPU over the profile run, by public logs.
type ServedDriver struct {
	Bytes  units.Bytes `json:"bytes"` // that were charged
	Least  units.Bytes `json:"least"` // in the logs
	Most   units.Bytes `json:"most"`
	Source string      `json:"source"`
	Logged bool        `json:"logged"` // the logs are of this card and number of GPUs
}

// ServedWorker is the engine's process of a GPU.
type ServedWorker struct {
	Rank       int          `json:"rank"`
	Total      units.Bytes  `json:"total"`      // of the card
	Requested  units.Bytes  `json:"requested"`  // that the engine may use
	Loaded     units.Bytes  `json:"loaded"`     // of PyTorch's allocator
	Activation *units.Bytes `json:"activation"` // of the profile run; nil where it measured none
	Outside    *units.Bytes `json:"outside_pytorch"`
	KVMemory   units.Bytes  `json:"kv_memory"` // below 0 where nothing is left
	Graphs     units.Bytes  `json:"graphs"`    // CUDA graphs, as the engine measures them
	OfDriver   units.Bytes  `json:"graphs_of_driver"`
	InBudget   units.Bytes  `json:"graphs_in_budget"` // that the engine takes off KVMemory for CUDA graphs
}

// ServedCache is the engine's KV cache.
type ServedCache struct {
	Blocks           int64       `json:"blocks"`
	BlockSize        int64       `json:"block_size"`
	Tokens           int64       `json:"tokens"`
	Replicas         int64       `json:"replicas"`      // engines, each with such a cache; 0 in older recordings
	TokensInAll      int64       `json:"tokens_in_all"` // of all replicas
	Concurrency      float64     `json:"concurrency"`
	MaxModelLen      int64       `json:"max_model_len"`
	Bytes            units.Bytes `json:"kv_cache"` // of its tensors on one GPU
	MaxNumSeqs       int64       `json:"max_num_seqs"`
	MaxBatchedTokens int64       `json:"max_num_batched_tokens"`
	Utilization      float64     `json:"gpu_memory_utilization"`
	CacheDType       string      `json:"kv_cache_dtype"`
	DType            string      `json:"dtype"`
}

// ServedError is what kept the engine from having a KV cache.
type ServedError struct {
	Stage string `json:"stage"`
	Text  string `json:"text"`
}

const (
	maxServed     = 64 << 20 // bytes of the file, most of them of Made
	servedText    = 48       // the least text of an object in it
	maxServedGPUs = 1 << 16

	maxServedFigure = 1 << 53 // of sizes and numbers: floating point has each up to it
)

// DecodeServed reads the recording of an engine's start.
func DecodeServed(data []byte) (*Served, error) {
	if len(data) > maxServed {
		return nil, fmt.Errorf("got a recording of more than %d bytes", maxServed)
	}
	if err := regular.CheckJSON(data, servedText); err != nil {
		return nil, err
	}
	s := &Served{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("not the start of an engine: %w", err)
	}
	return s, s.check()
}

// check says what is wrong with a recording: the first of it.
func (s *Served) check() error {
	switch {
	case s.Schema != Schema:
		return fmt.Errorf("got schema %d, want %d", s.Schema, Schema)
	case s.Fits == nil:
		return errors.New("got an engine that did not start, want one that has a KV cache or does not fit")
	case *s.Fits != (s.KV != nil) || *s.Fits && s.Error != nil || !*s.Fits && s.Error == nil:
		return fmt.Errorf("got fits %t beside another kv or error, want a KV cache where it fits, else an error",
			*s.Fits)
	case *s.Fits && len(s.Workers) == 0 || len(s.Workers) > maxServedGPUs:
		return fmt.Errorf("got %d workers, want 1 to %d", len(s.Workers), maxServedGPUs)
	case s.Device.Count < 1 || s.Device.Count > maxServedGPUs:
		return fmt.Errorf("device: got a count of %d, want 1 to %d", s.Device.Count, maxServedGPUs)
	case !isFigure(s.Device.Memory):
		return fmt.Errorf("device: got a memory of %d bytes, want %s", int64(s.Device.Memory), wantFigure)
	case s.Driver.Least > s.Driver.Bytes || s.Driver.Bytes > s.Driver.Most ||
		!isFigure(s.Driver.Least) || !isFigure(s.Driver.Most):
		return fmt.Errorf("driver: got sizes %d, %d and %d, want least, bytes and most in order and %s",
			int64(s.Driver.Least), int64(s.Driver.Bytes), int64(s.Driver.Most), wantFigure)
	}
	for i := range s.Workers {
		if err := s.Workers[i].check(); err != nil {
			return fmt.Errorf("worker %d: %w", i, err)
		}
	}
	if err := s.checkTexts(); err != nil {
		return err
	}
	if s.Made != nil {
		if err := s.Made.Check(); err != nil {
			return fmt.Errorf("made: %w", err)
		}
	}
	if s.KV == nil {
		return nil
	}
	return s.KV.check()
}

// wantFigure is what isFigure takes.
const wantFigure = "0 to 2^53"

// isFigure says whether a size or number is one that an engine can have.
func isFigure[T ~int64](n T) bool { return n >= 0 && n <= maxServedFigure }

func (w *ServedWorker) check() error {
	for _, b := range []*units.Bytes{&w.Total, &w.Requested, &w.Loaded, &w.Graphs, &w.OfDriver, &w.InBudget, w.Activation,
		w.Outside} {
		if b != nil && !isFigure(*b) {
			return fmt.Errorf("got a size of %d bytes, want %s", int64(*b), wantFigure)
		}
	}
	if !isFigure(w.KVMemory) && !isFigure(-w.KVMemory) {
		return fmt.Errorf("got a kv_memory of %d bytes, want a size up to 2^53", int64(w.KVMemory))
	}
	if (w.Activation == nil) != (w.Outside == nil) {
		return errors.New("got one of activation and outside_pytorch, want both or neither")
	}
	return nil
}

func (c *ServedCache) check() error {
	for _, n := range []int64{
		c.Blocks, c.BlockSize, c.Tokens, c.Replicas, c.TokensInAll, c.MaxModelLen, int64(c.Bytes), c.MaxNumSeqs,
		c.MaxBatchedTokens,
	} {
		if !isFigure(n) {
			return fmt.Errorf("kv: got the number %d, want %s", n, wantFigure)
		}
	}
	if !(c.Concurrency >= 0 && c.Concurrency < maxServedFigure) || !(c.Utilization >= 0 && c.Utilization <= 1) {
		return fmt.Errorf("kv: got concurrency %v and gpu_memory_utilization %v, want numbers from 0, the last up to 1",
			c.Concurrency, c.Utilization)
	}
	if c.Blocks > 0 && c.Bytes < units.Bytes(c.Blocks) {
		return fmt.Errorf("kv: got %d blocks in %d bytes", c.Blocks, int64(c.Bytes))
	}
	return nil
}

// checkTexts refuses what could not be printed: people read it.
func (s *Served) checkTexts() error {
	texts := []string{
		s.Engine.Name, s.Engine.Release, s.Model, s.Device.Name, s.Device.DriverName, s.Driver.Source, s.Torch,
	}
	texts = slices.Concat(texts, s.Command, s.MadeUp, s.Defaults)
	if s.Error != nil {
		texts = append(texts, s.Error.Stage, s.Error.Text)
	}
	if s.KV != nil {
		texts = append(texts, s.KV.CacheDType, s.KV.DType)
	}
	for _, t := range texts {
		if strings.ContainsFunc(t, func(c rune) bool { return !unicode.IsPrint(c) }) {
			return fmt.Errorf("got the text %q, want it printable", t)
		}
	}
	return nil
}

// Least is the worker that has the least for its KV cache; nil where no worker is recorded.
func (s *Served) Least() *ServedWorker {
	var least *ServedWorker
	for i := range s.Workers {
		if w := &s.Workers[i]; least == nil || w.KVMemory < least.KVMemory {
			least = w
		}
	}
	return least
}

// Requests is how many whole requests of the longest length the KV cache holds.
func (c *ServedCache) Requests() int64 { return int64(math.Floor(c.Concurrency)) }

// WithDriver is the KV cache where the driver takes more bytes than were charged, on each GPU. A
// cache whose size the command states stays as it is.
func (s *Served) WithDriver(more units.Bytes) ServedCache {
	c := *s.KV
	least := s.Least()
	if least.Outside == nil || c.Blocks == 0 {
		return c
	}
	block := c.Bytes / units.Bytes(c.Blocks)
	blocks := min(c.Blocks, int64(max(least.KVMemory-more, 0)/block))
	share := float64(blocks) / float64(c.Blocks)
	c.Bytes, c.Concurrency = block.Mul(blocks), c.Concurrency*share
	if c.Tokens == c.Blocks*c.BlockSize {
		c.Tokens = blocks * c.BlockSize
	} else { // groups of layers keep different numbers of tokens
		c.Tokens = int64(float64(c.Tokens) * share)
	}
	c.Blocks = blocks
	return c
}
