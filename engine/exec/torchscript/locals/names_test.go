package locals

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrintedAs(t *testing.T) {
	tests := []struct {
		name, local string
		want        bool
		why         string
	}{
		{"x", "x", true, "the first of its name has no counter"},
		{"x19", "x", true, "the printer counts up in a file"},
		{"x1", "x1", true, "the user's own name may end in a digit"},
		{"x01", "x", false, "counters have no leading zero"},
		{"x0", "x", true, "but may be zero"},
		{"xs", "x", false, "another name"},
		{"x1y", "x", false, "another name"},
		{"x", "", false, "an attribute is no name"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, printedAs(tt.name, tt.local), tt.why)
	}
}
