package main

import (
	"runtime/debug"
	"strings"
)

// release is the version of the distribution that this is a part of; the linker sets it (-X main.release).
var release string

// version is that of the release, else the module's as the Go command stamped it, with the revision where it was built from a checkout.
func version() string {
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
