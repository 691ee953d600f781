package device

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/units"
)

// LogsOf is what the logs of a card say of its context, for a card that was measured too.
func LogsOf(name string) (low, high units.Bytes) {
	s := within(func(l *contextLog) bool { return slices.Contains(l.devices, name) })
	return s.low, s.high
}

// Logs reports each log: of which cards it may be, what the context may have been, and its source.
func Logs() (out []string) {
	for i := range contextLogs {
		l := &contextLogs[i]
		low, high := l.ends()
		out = append(out, fmt.Sprintf("%s: %d to %d B (%s)", strings.Join(l.devices, ", "), low, high, l.source))
	}
	return out
}

// Instances are the machines of clouds with their cards.
func Instances() map[string]string { return instances }

// Hint is what a word asks for that is no card's name.
func Hint(name string) string { return hint(name) }
