package engine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/conformance"
	"github.com/memspec/memspec/engine/internal/testing/golden"
)

type (
	recording = conformance.Recording
	stream    = conformance.Stream
)

// conformanceFolder holds the recordings that the device none is compared with.
const conformanceFolder = "../testdata/conformance/2.15-fake-cuda"

// testdataRoot is the folder that recordings name their artifacts from.
func testdataRoot() string {
	if d := os.Getenv("MEMSPEC_CONFORMANCE"); d != "" {
		return filepath.Dir(d)
	}
	return filepath.Join("..", "testdata")
}

func recordings(t testing.TB) []*recording {
	t.Helper()
	if d := os.Getenv("MEMSPEC_CONFORMANCE"); d != "" {
		return conformance.Read(t, d) // recordings of other models, made with pyshim/tools/truth
	}
	return shareOf(conformance.Read(t, conformanceFolder))
}

// shareOf is all recordings of small archives, and of big models the first of each family: resnet18
// of the resnets. With MEMSPEC_WHOLE it is all.
func shareOf(all []*recording) []*recording {
	if golden.Whole() {
		return all
	}
	var out []*recording
	families := map[string]bool{}
	for _, r := range all {
		small := slices.ContainsFunc(r.Streams, func(s *stream) bool { return strings.Contains(s.Artifact, "/small/") })
		if family := familyOf(r.Model); small || !families[family] {
			families[family] = families[family] || !small
			out = append(out, r)
		}
	}
	return out
}

// familyOf is the name of a model without its size and variant.
func familyOf(model string) string {
	name, _, _ := strings.Cut(model, "_")
	return strings.TrimRight(name, "0123456789")
}
