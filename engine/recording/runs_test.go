package recording

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRunsOfARecAreRead: what a .rec says of the events of runs with other values is checked before
// they are read: those that are shared exist, and all together are no more than may be.
func TestRunsOfARecAreRead(t *testing.T) {
	most := limits{text: 1000, header: 500, line: 50, events: 3}
	for _, tt := range []struct{ runs, rows, want string }{
		{`{"shared":1},{"shared":0,"events":1},{"events":1}`, "[0,1,1]\n[0,2,2]\n[0,3,3]\n", ""},
		{`{"shared":2}`, "[0,1,1]\n", "values: run 0: got 2 events shared of 1, and 0 more"},
		{`{},{"shared":-1}`, "[0,1,1]\n", "values: run 1: got -1 events shared of 1, and 0 more"},
		{`{"events":-1}`, "[0,1,1]\n", "values: run 0: got 0 events shared of 1, and -1 more"},
		{`{"events":3}`, "[0,1,1]\n", "values: run 0: got 0 events shared of 1, and 3 more"},
		{`{"events":1},{"events":2}`, "[0,1,1]\n[0,2,2]\n", "values: run 1: got 0 events shared of 1, and 2 more"},
		{`{"events":1}`, "[0,1,1]\n[0,2]\n", "values: run 0: event 0: got no event"},
		{`{},{},{},{}`, "[0,1,1]\n", "values: got 4 runs, want at most 3"},
		{`{}`, "[0,1,1]\n[0,2,2]\n", "got something after the last event"},
	} {
		text := `{"rec":1,"record":{"schema":1,"values":{"runs":[` + tt.runs + `]}},"actions":["alloc"],"events":1}` + "\n" +
			tt.rows
		r, err := decodeRec(strings.NewReader(zipped(t, text)), most)
		if tt.want != "" {
			assert.ErrorContains(t, err, tt.want, tt.runs)
			continue
		}
		assert.NoError(t, err, tt.runs)
		assert.Len(t, r.Events, 1)
		var keys []uint64
		for _, run := range r.Values.Runs {
			for _, e := range run.Events {
				keys = append(keys, e.Key)
			}
		}
		assert.Equal(t, []uint64{2, 3}, keys, "from nought where no event is shared")
	}
}

// TestIgnoresVariable: only a pattern that begins with $ is of variables.
func TestIgnoresVariable(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		want    bool
	}{{"$WIDTH", true}, {"$W*", true}, {"$H*", false}, {"WIDTH", false}, {"xWIDTH", false}, {"*", false}} {
		assert.Equal(t, tt.want, Depends{Ignore: []string{tt.pattern}}.IgnoresVariable("WIDTH"), tt.pattern)
	}
	assert.False(t, Depends{Ignore: []string{"$a"}}.IgnoresFile("$a"))
}

// TestHolds: content is compared by its size where that is recorded, else by its hash, with every
// \r\n as \n.
func TestHolds(t *testing.T) {
	three := int64(3)
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	assert.True(t, (&Data{SHA256: abc}).Holds([]byte("abc")))
	assert.False(t, (&Data{SHA256: abc}).Holds([]byte("abd")))
	assert.True(t, (&Data{Size: &three}).Holds([]byte("abd")))
	assert.False(t, (&Data{Size: &three}).Holds([]byte("abcd")))
}

// TestData: the files of a run in the order that they are compared and reported in.
func TestData(t *testing.T) {
	two := int64(2)
	m := &Made{Files: []File{{Path: "b.py", SHA256: "1"}, {Path: "a.py", SHA256: "2"}},
		Read: []Data{{Path: "z.json", SHA256: "3"}, {Path: "c.bin", Size: &two}}}
	assert.Equal(t, []Data{{Path: "b.py", SHA256: "1"}, {Path: "a.py", SHA256: "2"}, {Path: "z.json", SHA256: "3"},
		{Path: "c.bin", Size: &two}}, m.Data())
	assert.Empty(t, (&Made{}).Data())
}
