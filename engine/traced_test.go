package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
)

// TestTracedAgainstPretended holds traced archives with what was seen at export (memshim export
// --kind trace) against the live models on pretend GPUs: every event of the first pass and the
// peaks, at each class of device that a recording is of. Alone an archive's account is an estimate,
// and no model takes more than its upper figure.
func TestTracedAgainstPretended(t *testing.T) {
	dir := filepath.Join("..", "testdata", "conformance", "2.15-exported")
	paths, err := filepath.Glob(filepath.Join("..", "testdata", "artifacts", "exported", "traced", "*.trace.pt"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".trace.pt")
		recorded, err := filepath.Glob(filepath.Join(dir, "*", name+".txt"))
		require.NoError(t, err)
		require.NotEmpty(t, recorded)
		for _, file := range recorded {
			want := readPretended(t, file)
			w := want.runs["eager"]
			t.Run(name+"/"+want.device, func(t *testing.T) {
				c := pretendedCase(t, want, "eager", exportedFile(name))
				c.Workspace = filepath.Join(dir, "memspec.workspace.json")
				for i := range c.Inputs { // a traced archive's names are its own
					c.Inputs[i].Name = ""
				}
				c.Artifact, c.Runtime = path, spec.Eager
				r, err := new(suite.Models).Run(context.Background(), c)
				require.NoError(t, err)
				quality := report.Exact
				if r.Report.HasNote(note.WorkspaceStandIn) { // with a device, cuDNN may choose otherwise
					quality = report.Estimated
				}
				assert.Equal(t, quality, r.Report.Quality, "%v", r.Report.Notes)
				assert.Equal(t, w.events, streamOf(r.Trace))
				p, b := r.Report.Peak, r.Report.Baseline
				assert.Equal(t, w.baseline, [3]int64{int64(b.Requested), int64(b.Allocated), int64(b.Reserved)}, "baseline")
				assert.Equal(t, w.passes[0], [3]int64{int64(p.Requested), int64(p.Allocated), int64(p.Reserved)}, "peak")

				c.Artifact = withoutSidecar(t, path)
				r, err = new(suite.Models).Run(context.Background(), c)
				require.NoError(t, err)
				require.NotNil(t, r.Upper)
				assert.Equal(t, report.Estimated, r.Report.Quality)
				assert.GreaterOrEqual(t, int64(r.Upper.Allocated.Bytes), w.passes[0][1])
			})
		}
	}
}

// withoutSidecar is an archive in a separate folder.
func withoutSidecar(t *testing.T, path string) string {
	alone := filepath.Join(t.TempDir(), filepath.Base(path))
	absolute, err := filepath.Abs(path)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(absolute, alone))
	return alone
}
