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
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
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
