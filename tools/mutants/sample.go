package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"regexp"
	"slices"
	"strconv"
)

// draw takes n mutations that compile, one an expression or statement; 0 takes every mutation that
// matches. The second result is how many were passed over because they do not compile.
func draw(all []*mutation, n int, seed int64, match *regexp.Regexp) ([]*mutation, int) {
	bySite := map[string][]*mutation{}
	for _, m := range all {
		if match == nil || match.MatchString(m.id()) {
			bySite[m.site()] = append(bySite[m.site()], m)
		}
	}
	type site struct {
		key  [sha256.Size]byte
		name string
	}
	sites := make([]site, 0, len(bySite))
	for name := range bySite {
		sites = append(sites, site{rank(seed, name), name})
	}
	slices.SortFunc(sites, func(a, b site) int {
		return cmp.Or(bytes.Compare(a.key[:], b.key[:]), cmp.Compare(a.name, b.name))
	})
	var out []*mutation
	broken := 0
	for _, s := range sites {
		here := bySite[s.name]
		slices.SortFunc(here, func(a, b *mutation) int {
			ka, kb := rank(seed, a.id()), rank(seed, b.id())
			return cmp.Or(bytes.Compare(ka[:], kb[:]), cmp.Compare(a.id(), b.id()))
		})
		for _, m := range here {
			if !m.compiles() {
				broken++
				continue
			}
			out = append(out, m)
			if len(out) == n {
				return out, broken
			}
			if n > 0 {
				break
			}
		}
	}
	return out, broken
}

// rank is where the seed puts a text.
func rank(seed int64, text string) [sha256.Size]byte {
	return sha256.Sum256([]byte(strconv.FormatInt(seed, 10) + "\n" + text))
}
