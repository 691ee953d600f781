package ptzip

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is read in the quick way is what the JSON says, and what is not written as strip writes it
// is left to encoding/json.
func TestReadStripped(t *testing.T) {
	for _, c := range []struct {
		text  string
		quick bool
		why   string
	}{
		{`{"schema":1,"records":{"data/0":37632,"data/1":4}}`, true, "as strip writes it"},
		{`{"records":{"data/0":37632,"data/1":4},"schema":1}`, true, "sorted by name"},
		{`{"schema":1, "records":{"data/0":37632,"data/1":4}}`, false, "with blanks"},
		{`{"schema":1,"records":{ "data/0":37632,"data/1":4}}`, false, "with a blank before a name"},
		{`{"schema":1,"records":{"data\/0":37632,"data/1":4}}`, false, "with an escape"},
		{`{"schema":1,"records":{"data/0":3.7632e4,"data/1":4}}`, false, "a number that is none of digits alone"},
	} {
		var s Stripped
		assert.Equal(t, c.quick, compactStripped(c.text, &s), c.why)
		got, err := ReadStripped([]byte(c.text))
		if c.why == "a number that is none of digits alone" {
			continue // encoding/json says what it thinks of it
		}
		require.NoError(t, err, c.why)
		assert.Equal(t, Stripped{Schema: 1, Records: map[string]int64{"data/0": 37632, "data/1": 4}}, got, c.why)
	}
	_, err := ReadStripped([]byte(`{"records":{},"schema":2}`))
	assert.EqualError(t, err, ".memspec/stripped.json: got schema 2, want 1")
}

func TestStrippedIsBounded(t *testing.T) {
	text := func(n int) []byte { return []byte(`{"schema":1,"records":{` + strings.Repeat(" ", n-25) + `}}`) }
	_, err := ReadStripped(text(maxStripped))
	require.NoError(t, err)
	_, err = ReadStripped(text(maxStripped + 1))
	assert.EqualError(t, err, ".memspec/stripped.json: bytes: got 16777217, want at most 16777216")
}
