// Package profile holds profiles (the doors say: workspace profiles): what a library itself answers
// when it is asked how much workspace a call needs.
//
// A profile is a small JSON file kept beside memspec.yaml. Its entries are grouped by who answered
// (library and version) and for which class of device; within a group a call is keyed by everything
// that the library's choice depends on. Reading checks the schema and that no two entries
// contradict each other; writing sorts, so that profiles merge and compare as text. This package
// asks no library.
package profile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/units"
)

// Schema is the version of the file format that this package reads and writes.
const Schema = 1

// maxBytes bounds a profile's size.
const maxBytes = 64 << 20

// Answerer is who answered, and for what: "cudnn" "9.10.2" "sm89".
type Answerer struct {
	Library string `json:"library"`
	Version string `json:"version"`
	Class   string `json:"class"` // of devices that get one answer: platform.DeviceClass
}

// Call is one library call: all that its choice of an engine depends on (facts: cuDNN's heuristics
// take nothing else of the device than its class, and nothing of the driver).
type Call struct {
	Op        string `json:"op"`        // "conv"
	Direction string `json:"direction"` // "forward", "dgrad" (also transposed convolutions), "wgrad"
	DType     string `json:"dtype"`     // PyTorch's name
	// sizes of cuDNN's x: forward's input, dgrad's result, wgrad's input; y follows from x and w
	Input         []int64 `json:"input"`
	InputStrides  []int64 `json:"input_strides"`
	Weight        []int64 `json:"weight"`
	WeightStrides []int64 `json:"weight_strides"`
	Padding       []int64 `json:"padding"`
	Stride        []int64 `json:"stride"`
	Dilation      []int64 `json:"dilation"`
	Groups        int64   `json:"groups"`
	Deterministic bool    `json:"deterministic,omitempty"`
	AllowTF32     bool    `json:"allow_tf32,omitempty"`
	Benchmark     bool    `json:"benchmark,omitempty"`
}

// Answer is what the library said of its first choice.
type Answer struct {
	Bytes  units.Bytes `json:"bytes"`
	Engine int         `json:"engine"` // cuDNN's engine id
	// with Benchmark: the largest workspace of all its choices, taken once while they are timed
	Most units.Bytes `json:"most,omitempty"`
}

// Entry is a call with its answer.
type Entry struct {
	Call
	Answer
}

// Group is the entries of one answerer, sorted by Call.Key.
type Group struct {
	Answerer
	Entries []Entry `json:"entries"`
}

// Profile is one file, or several merged. A nil Profile has no entries.
type Profile struct {
	answers map[Answerer]map[string]Entry
	behind  *Profile // answers where this one has none
}

// Key is the call as a line of text: equal keys get equal answers.
func (c *Call) Key() string {
	b := make([]byte, 0, 128)
	b = append(b, c.Op...)
	b = append(append(b, ' '), c.Direction...)
	b = append(append(b, ' '), c.DType...)
	for _, dims := range [][]int64{
		c.Input, c.InputStrides, c.Weight, c.WeightStrides, c.Padding, c.Stride, c.Dilation, {c.Groups},
	} {
		b = append(b, ' ')
		for i, d := range dims {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, d, 10)
		}
	}
	for _, flag := range []struct {
		on   bool
		name string
	}{{c.Deterministic, " deterministic"}, {c.AllowTF32, " tf32"}, {c.Benchmark, " benchmark"}} {
		if flag.on {
			b = append(b, flag.name...)
		}
	}
	return string(b)
}

// Lookup is the answer to a call, false where nobody was asked.
func (p *Profile) Lookup(by Answerer, c *Call) (Answer, bool) {
	if p == nil {
		return Answer{}, false
	}
	if entries := p.answers[by]; entries != nil {
		if e, ok := entries[c.Key()]; ok {
			return e.Answer, true
		}
	}
	return p.behind.Lookup(by, c)
}

// Before is a profile that answers as p does, and as behind where p has no answer. Groups are p's
// alone. Neither profile changes.
func (p *Profile) Before(behind *Profile) *Profile {
	if p == nil || p == behind {
		return behind
	}
	return &Profile{answers: p.answers, behind: behind}
}

// StandIn is the answer of another version of the same library for the same class, of the nearest
// one that was asked, and who gave it.
func (p *Profile) StandIn(by Answerer, c *Call) (Answer, Answerer, bool) {
	if p == nil {
		return Answer{}, Answerer{}, false
	}
	key := c.Key()
	var best Answerer
	for other, entries := range p.answers {
		if other.Library != by.Library || other.Class != by.Class || other.Version == by.Version {
			continue
		}
		if _, ok := entries[key]; !ok {
			continue
		}
		if best == (Answerer{}) || nearer(by.Version, other.Version, best.Version) {
			best = other
		}
	}
	if e, ok := p.answers[best][key]; ok {
		return e.Answer, best, true
	}
	return p.behind.StandIn(by, c)
}

// nearer says whether version a is nearer to v than b is. Of two on one side of it that is the one
// between; else the first part whose distances differ decides, then the older one.
func nearer(v, a, b string) bool {
	x, y, z := versionParts(v), versionParts(a), versionParts(b)
	if side := slices.Compare(y[:], x[:]); side == slices.Compare(z[:], x[:]) {
		return slices.Compare(y[:], z[:]) == -side
	}
	for i := range x {
		da, db := abs(y[i]-x[i]), abs(z[i]-x[i])
		if da != db {
			return da < db
		}
	}
	return slices.Compare(y[:], z[:]) < 0
}

func versionParts(s string) (parts [4]int) {
	for i, p := range strings.SplitN(s, ".", len(parts)) {
		parts[i], _ = strconv.Atoi(p)
	}
	return parts
}

func abs(n int) int { return max(n, -n) }

// Add puts an entry in. One that is there already must agree.
func (p *Profile) Add(by Answerer, e Entry) error {
	group := p.answers[by]
	if group == nil { // of one that is there the answerer is right
		if err := by.check(); err != nil {
			return err
		}
	}
	if err := e.check(); err != nil {
		return err
	}
	if p.answers == nil {
		p.answers = map[Answerer]map[string]Entry{}
	}
	if group == nil {
		group = map[string]Entry{}
		p.answers[by] = group
	}
	key := e.Key()
	if old, ok := group[key]; ok && old.Answer != e.Answer {
		return fmt.Errorf("got two answers of %s %s for %s to %s: %d B of engine %d and %d B of engine %d",
			by.Library, by.Version, by.Class, key, int64(old.Bytes), old.Engine, int64(e.Bytes), e.Engine)
	}
	group[key] = e
	return nil
}

// Groups are all entries, sorted by library, version, class and key.
func (p *Profile) Groups() []Group {
	if p == nil {
		return nil
	}
	by := slices.SortedFunc(maps.Keys(p.answers), func(a, b Answerer) int {
		return cmp.Or(strings.Compare(a.Library, b.Library), strings.Compare(a.Version, b.Version),
			strings.Compare(a.Class, b.Class))
	})
	out := make([]Group, len(by))
	for i, a := range by {
		out[i].Answerer = a
		for _, key := range slices.Sorted(maps.Keys(p.answers[a])) {
			out[i].Entries = append(out[i].Entries, p.answers[a][key])
		}
	}
	return out
}
