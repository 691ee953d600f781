package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Ranks is the world that a program runs in, one process a rank, as torchrun starts it.
type Ranks struct {
	WorldSize    int
	NProcPerNode int      // 0: as memshim run chooses
	Run          []string // numbers, first, last, stages, all; none for those that differ in memory
}

// maxWorld bounds the ranks of a world.
const maxWorld = 1 << 20

var (
	ranksKeys = []string{"world_size", "nproc_per_node", "run"}
	rankWords = []string{"first", "last", "stages", "all"}
)

// ranks reads the world of a program; what a case says is laid over what its model says.
func (r *reader) ranks(s *settings, e entry) {
	set := func(key string, to func(*Ranks)) {
		s.set(e.name+" "+key, func(c *Case) {
			if c.Program == nil {
				return
			}
			if c.Program.Ranks == nil {
				c.Program.Ranks = &Ranks{}
			}
			to(c.Program.Ranks)
		})
	}
	for _, k := range r.mapping(e.val, "a mapping of world_size:, nproc_per_node: and run:") {
		switch k.name {
		case "world_size", "nproc_per_node":
			n := count(1, maxWorld)(r, k)
			if n == nil {
				continue
			}
			if k.name == "world_size" {
				set(k.name, func(of *Ranks) { of.WorldSize = *n })
			} else {
				set(k.name, func(of *Ranks) { of.NProcPerNode = *n })
			}
		case "run":
			run := r.whichRanks(k.val)
			set(k.name, func(of *Ranks) { of.Run = run })
		default:
			r.errorf(k.key, "got the key %q, want one of %s%s", shorten(k.name), strings.Join(ranksKeys, ", "),
				didYouMean(k.name, ranksKeys))
		}
	}
	s.ranks = e.key
}

// whichRanks reads the ranks that run: one, or a list.
func (r *reader) whichRanks(n *yaml.Node) []string {
	const want = "numbers of ranks, first, last, stages or all"
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		if nodes = r.list(n, want); len(nodes) == 0 || len(nodes) > maxWords {
			r.errorf(n, "got %d of them, want 1 to %d: %s", len(nodes), maxWords, want)
			return nil
		}
	}
	var out []string
	for _, one := range nodes {
		s, ok := r.text(one, want)
		if !ok {
			continue
		}
		if _, err := strconv.ParseUint(s, 10, 31); err != nil && !slices.Contains(rankWords, s) {
			r.errorf(one, "got %q, want %s%s", shorten(s), want, didYouMean(s, rankWords))
			continue
		}
		out = append(out, s)
	}
	return out
}

// checkRanks says what is wrong with the world of a case whose layers are joined.
func (d *document) checkRanks(p *Program, at *yaml.Node) {
	r := p.Ranks
	if r == nil {
		return
	}
	switch {
	case r.WorldSize == 0:
		d.errorf(at, "got ranks: without world_size:, want it")
		return
	case r.NProcPerNode > 0 && r.WorldSize%r.NProcPerNode != 0:
		d.errorf(at, "got world_size: %d, want a multiple of nproc_per_node: %d", r.WorldSize, r.NProcPerNode)
	}
	for _, word := range r.Run {
		if n, err := strconv.Atoi(word); err == nil && n >= r.WorldSize {
			d.errorf(at, "got run: %d, want ranks below world_size: %d", n, r.WorldSize)
		}
	}
	for _, v := range p.Env {
		if slices.Contains(torchrunVariables, v.Name) {
			d.errorf(at, "got ranks: beside env: {%s: %s}, want one of them", v.Name, v.Value)
		}
	}
}

// torchrunVariables are set for each rank.
var torchrunVariables = []string{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR",
	"MASTER_PORT"}

func (r *Ranks) text() string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf(" ranks %d %d %q", r.WorldSize, r.NProcPerNode, r.Run)
}

// RanksJSON is a Ranks.
type RanksJSON struct {
	WorldSize    int      `json:"world_size"`
	NProcPerNode int      `json:"nproc_per_node"` // 0 where it is not stated
	Run          []string `json:"run"`            // none for those that differ in memory
}

func (r *Ranks) json() *RanksJSON {
	if r == nil {
		return nil
	}
	return &RanksJSON{r.WorldSize, r.NProcPerNode, orEmpty(r.Run)}
}

// OfRank is the case for one of its ranks.
func (c *Case) OfRank(rank int) Case {
	out := *c
	out.Rank = &rank
	return out
}

// EveryRank says whether the case is of several ranks, of which each has a recording.
func (c *Case) EveryRank() bool { return c.Program != nil && c.Program.Ranks != nil && c.Rank == nil }
