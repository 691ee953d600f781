package artifact

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/recording"
)

// TestRuntimesOfRecordings: one of compiled code is reported as compiled, and answers a case that
// says eager.
func TestRuntimesOfRecordings(t *testing.T) {
	of := func(runtime string, compiled bool) []string {
		return runtimesOf(&recording.Recording{Header: recording.Header{Runtime: runtime, Compiled: compiled}})
	}
	assert.Equal(t, []string{"eager"}, of("eager", false))
	assert.Equal(t, []string{"compiled", "eager"}, of("eager", true))
	assert.Empty(t, of("", false))
}
