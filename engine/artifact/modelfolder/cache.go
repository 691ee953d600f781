package modelfolder

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/units"
)

// A Cache is what a model keeps of one sequence between its forward passes.
type Cache struct {
	Known bool
	Parts []CachePart
}

// A CachePart is what layers of one kind keep.
type CachePart struct {
	Grows    Growth
	Window   int64  // tokens at most, of a window
	Elements int64  // of a token, of a state those of a sequence
	DType    string // "" is the cache's
	Tensors  int64  // how many
}

// Growth says what a part's size depends on.
type Growth string

const (
	ByToken  Growth = "token"  // each token of the sequence
	ByWindow Growth = "window" // each token, up to a window
	State    Growth = "state"  // nothing: convolution and recurrent states
)

// readCache applies the architecture's rules of its cache.
func (m *Model) readCache(c *config) {
	if c.of.cacheless != "" {
		if c.of.class != "" {
			m.unknownf("KV cache of %s: no rule is known (%s)", m.Type, c.of.cacheless)
		}
		return
	}
	err := c.each(c.of.cache, func(t tensor) error {
		grows, dtype, _ := strings.Cut(t.rule.kind, " ")
		part := CachePart{Grows: Growth(grows), Elements: t.elements, DType: dtype, Tensors: t.n}
		if part.Grows == ByWindow {
			part.Window = t.dims[0]
			part.Elements = t.elements / max(1, part.Window)
		}
		var err error
		part.Elements, err = product(part.Elements, t.n)
		m.Cache.add(part)
		return err
	})
	if err != nil {
		m.unknownf("KV cache: %v", err)
		m.Cache = Cache{}
		return
	}
	m.Cache.Known = true
	slices.SortStableFunc(m.Cache.Parts, func(a, b CachePart) int { return cmp.Compare(a.order(), b.order()) })
}

func (p *CachePart) order() int {
	return slices.Index([]Growth{ByToken, ByWindow, State}, p.Grows)
}

// add joins parts that differ in nothing but their size.
func (c *Cache) add(part CachePart) {
	if part.Elements == 0 {
		return
	}
	for i := range c.Parts {
		p := &c.Parts[i]
		if p.Grows == part.Grows && p.Window == part.Window && p.DType == part.DType {
			p.Elements = int64(units.Bytes(p.Elements).Add(units.Bytes(part.Elements)))
			p.Tensors += part.Tensors
			return
		}
	}
	c.Parts = append(c.Parts, part)
}

// Bytes returns the size of a token, of a state that of a sequence, in a cache of a dtype.
func (p *CachePart) Bytes(dtype string) units.Bytes {
	if p.DType != "" {
		dtype = p.DType
	}
	size, _ := ItemSize(dtype)
	return size.Mul(p.Elements)
}

// PerToken returns the bytes that each token adds in a cache of a dtype, before any window is full.
func (c *Cache) PerToken(dtype string) units.Bytes {
	var sum units.Bytes
	for i := range c.Parts {
		if c.Parts[i].Grows != State {
			sum = sum.Add(c.Parts[i].Bytes(dtype))
		}
	}
	return sum
}

// PerSequence returns the bytes of one sequence of so many tokens, of which the last step are
// written before any behind a window are given back (vllm/v1/kv_cache_interface.py,
// SlidingWindowSpec).
func (c *Cache) PerSequence(dtype string, tokens, step int64) units.Bytes {
	var sum units.Bytes
	for i := range c.Parts {
		p := &c.Parts[i]
		switch p.Grows {
		case State:
			sum = sum.Add(p.Bytes(dtype))
		case ByWindow:
			sum = sum.Add(p.Bytes(dtype).Mul(min(tokens, p.Window+step)))
		default:
			sum = sum.Add(p.Bytes(dtype).Mul(tokens))
		}
	}
	return sum
}
