package cli

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestVersionOfABuild: a release is its own version; of a checkout the revision stands beside the
// module's, unless that holds it.
func TestVersionOfABuild(t *testing.T) {
	of := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"}
	for _, tt := range []struct {
		why, release string
		info         *debug.BuildInfo
		want         string
	}{
		{"a release", "1.2", of("v0.9", revision), "1.2"},
		{"nothing is known", "", nil, "unknown"},
		{"a module", "", of("v0.9"), "v0.9"},
		{"no version", "", of(""), "(devel)"},
		{"a checkout", "", of("", debug.BuildSetting{Key: "vcs", Value: "git"}, revision), "(devel) 0123456789ab"},
		{"a version of that revision", "", of("v0.0.0-2026-0123456789ab", revision), "v0.0.0-2026-0123456789ab"},
		{"a short revision", "", of("", debug.BuildSetting{Key: "vcs.revision", Value: "01"}), "(devel) 01"},
	} {
		assert.Equal(t, tt.want, versionOf(tt.release, tt.info), tt.why)
	}
}
