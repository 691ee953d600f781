package engine_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// TestMixturesOfExpertsDependOnValues: how many rows an expert gets is data, and where a GPU
// computes a grouped product group by group, only a group that has some takes a product's
// workspace. The recordings are of a pretend GPU, where no group has any: they are the least, the
// prediction is the most, and except these workspaces the two are one, event for event.
func TestMixturesOfExpertsDependOnValues(t *testing.T) {
	for _, model := range []string{"mixtral", "qwen2_moe"} {
		paths, err := filepath.Glob(filepath.Join("..", "testdata", "conformance", "2.15-exported", "*", model+".txt"))
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(paths), 3, model)
		for _, path := range paths {
			want := readPretended(t, path)
			t.Run(model+"/"+want.device, func(t *testing.T) {
				w := want.runs["eager"]
				r, err := want.models.Run(context.Background(), pretendedCase(t, want, "eager", exportedFile(model)))
				require.NoError(t, err)
				require.True(t, r.Report.HasNote(note.WorkspaceEstimate))
				groups := map[tensor.StorageID]bool{}
				ofGroup := func(e trace.Event) bool {
					if e.Action == trace.Alloc && e.Site != trace.NoSite {
						site := r.Trace.Sites[e.Site]
						groups[e.Storage] = site.Op == "aten::_grouped_mm" && site.Category == tensor.Workspace
					}
					return e.Storage != trace.NoStorage && groups[e.Storage]
				}
				all := len(r.Trace.Events)
				least := *r.Trace
				least.Events = slices.DeleteFunc(slices.Clone(r.Trace.Events), ofGroup)
				assert.Less(t, len(least.Events), all, "workspaces of groups")
				assert.Equal(t, w.events, streamOf(&least))
				assert.GreaterOrEqual(t, int64(r.Report.Peak.Allocated), w.passes[0][1])
				assert.GreaterOrEqual(t, int64(r.Report.Peak.Reserved), w.passes[0][2])
			})
		}
	}
}
