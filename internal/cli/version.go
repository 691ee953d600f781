package cli

import (
	"runtime/debug"
	"strings"
)

// release is the version of the distribution that this is a part of; the linker sets it (-X
// github.com/memspec/memspec/internal/cli.release).
var release string

// Version is that of the release, else the module's as the Go command stamped it, with the revision
// where it was built from a checkout.
func Version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(release, info)
}

// versionOf is the version of a release, "" for none, or of a build; nil is one of which nothing is
// known.
func versionOf(release string, info *debug.BuildInfo) string {
	if release != "" {
		return release
	}
	if info == nil {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(v, s.Value[:min(12, len(s.Value))]) {
			v += " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return v
}
