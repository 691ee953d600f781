package trace_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/trace"
)

// TestValidateNotes: what is wrong with notes is reported in their order.
func TestValidateNotes(t *testing.T) {
	err := (&trace.Trace{Notes: []trace.Note{{Site: trace.NoSite}, {Note: note.Note{ID: "a"}, Site: trace.NoSite},
		{Note: note.Note{ID: "b"}, Site: 5}}}).Validate()
	require.EqualError(t, err, "note 0: got no id\nnote 2: got site 5 of 0")
}
