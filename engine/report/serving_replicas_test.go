package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/layout"
)

// TestReplicas: of several engines the tokens are those of one, and said to be.
func TestReplicas(t *testing.T) {
	one := &Serving{Fits: true, KV: &KVCache{Tokens: 1000, Requests: 3, MaxModelLen: 300}}
	two := &Serving{Fits: true, KV: &KVCache{Tokens: 1000, Requests: 3, MaxModelLen: 300, Replicas: 2, TokensInAll: 2016}}
	assert.Equal(t, "1,000 tokens of KV cache, 3 requests of 300", one.headline())
	assert.Equal(t, "1,000 tokens of KV cache in each of 2 replicas, 3 requests of 300", two.headline())
	for s, want := range map[*Serving]bool{one: false, two: true} {
		var text strings.Builder
		WriteServed(layout.To(&text), s)
		assert.Equal(t, want, strings.Contains(text.String(), "  replicas   2: 2,016 tokens in all; the other figures are "+
			"of one\n"))
	}
}
