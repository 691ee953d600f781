// Package once keeps what is read once and used by many.
package once

import "sync"

// A Map holds a value for each key, made when it is first needed. The zero value is empty; several
// goroutines may use it.
type Map[V any] struct {
	mu    sync.Mutex
	byKey map[string]func() (V, error)
}

// Get returns what make returned when key was first needed, be it an error. Others that need the
// key wait for it.
func (m *Map[V]) Get(key string, make func() (V, error)) (V, error) {
	m.mu.Lock()
	if m.byKey == nil {
		m.byKey = map[string]func() (V, error){}
	}
	get, ok := m.byKey[key]
	if !ok {
		get = sync.OnceValues(make)
		m.byKey[key] = get
	}
	m.mu.Unlock()
	return get()
}

// Drop forgets a key.
func (m *Map[V]) Drop(key string) {
	m.mu.Lock()
	delete(m.byKey, key)
	m.mu.Unlock()
}
