package regular

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCheckJSON(t *testing.T) {
	dense := "[{}" + strings.Repeat(",{}", anyObjects-1) + "]"
	assert.NoError(t, CheckJSON([]byte(dense), 1<<20))
	assert.EqualError(t, CheckJSON([]byte("[{},"+dense[1:]), 1<<20), "got 131073 objects in 393220 bytes, want at most "+
		"131072")
	assert.NoError(t, CheckJSON([]byte("[{},"+dense[1:]), 64), "text allows more")

	assert.EqualError(t, CheckJSON([]byte("[0"+strings.Repeat(",0", 2<<20)+"]"), 64),
		"got 2097152 values in 4194307 bytes, want at most 1310720")
	assert.NoError(t, CheckJSON([]byte("[1234567890123456"+strings.Repeat(",1234567890123456", 2<<20)+"]"), 64))
}
