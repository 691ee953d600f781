package device

import (
	"slices"

	"github.com/memspec/memspec/engine/units"
)

// LogsOf is what the logs of a card tell of its context, for a card that was measured too.
func LogsOf(name string) (low, high units.Bytes) {
	s := within(func(l *contextLog) bool { return slices.Contains(l.devices, name) })
	return s.low, s.high
}
