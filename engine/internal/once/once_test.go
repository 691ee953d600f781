package once_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/once"
)

func TestGetMakesAValueOnce(t *testing.T) {
	var m once.Map[int64]
	var made atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got, err := m.Get("a", func() (int64, error) { return made.Add(1), nil })
			assert.NoError(t, err)
			assert.EqualValues(t, 1, got)
		})
	}
	all.Wait()
	other, err := m.Get("b", func() (int64, error) { return made.Add(1), nil })
	assert.NoError(t, err)
	assert.EqualValues(t, 2, other)
}

func TestGetKeepsAnError(t *testing.T) {
	var m once.Map[int]
	no := errors.New("no")
	_, err := m.Get("a", func() (int, error) { return 0, no })
	assert.Equal(t, no, err)
	_, err = m.Get("a", func() (int, error) { return 1, nil })
	assert.Equal(t, no, err)
}

func TestDropForgetsOneKey(t *testing.T) {
	var m once.Map[int]
	value := func(n int) func() (int, error) { return func() (int, error) { return n, nil } }
	for _, key := range []string{"a", "b"} {
		_, _ = m.Get(key, value(1))
	}
	m.Drop("a")
	a, _ := m.Get("a", value(2))
	b, _ := m.Get("b", value(2))
	assert.Equal(t, []int{2, 1}, []int{a, b})
}
