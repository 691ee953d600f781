package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/conformance"
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
	return conformance.Read(t, conformanceFolder)
}
