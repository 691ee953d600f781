package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A dict of any size finds its keys, also after some were taken out.
func TestDictFind(t *testing.T) {
	d := &Dict{}
	for i := range int64(1000) {
		d.Keys, d.Values = append(d.Keys, i), append(d.Values, -i)
		assert.Equal(t, int(i), d.Find(i))
		assert.Equal(t, -1, d.Find(i+1))
	}
	d.Remove(10)
	assert.Equal(t, -1, d.Find(int64(10)))
	assert.Equal(t, 10, d.Find(int64(11)))
	assert.Equal(t, 998, d.Find(int64(999)))
	d.Keys = append(d.Keys, "new")
	assert.Equal(t, 999, d.Find("new"))
	d.Keys = d.Keys[:20]
	assert.Equal(t, -1, d.Find(int64(999)))
	d.Keys = append(d.Keys, int64(3)) // a key twice: the first counts
	assert.Equal(t, 3, d.Find(int64(3)))
}
