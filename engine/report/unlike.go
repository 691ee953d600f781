package report

import (
	"fmt"
	"strconv"
	"strings"
)

// Unlike says in what two runs differ that decides memory as much as the model does; none where
// they can be compared. The artifact may be another, and what made it.
func Unlike(a, b *Run) []string {
	var out []string
	differ := func(what, old, now string) {
		if old != now {
			out = append(out, fmt.Sprintf("%s %s, then %s", what, orNone(old), orNone(now)))
		}
	}
	differ("device", a.Device, b.Device)
	if a.Mode != Serve { // torch comes with the engine, whose release may be what changed
		differ("torch", a.Torch, b.Torch)
	}
	differ("GPUs", strconv.Itoa(max(a.GPUs, 1)), strconv.Itoa(max(b.GPUs, 1)))
	differ("runtime", a.Runtime, b.Runtime)
	differ("mode", a.Mode, b.Mode)
	differ("alloc_conf", a.AllocConf, b.AllocConf)
	differ("inputs", strings.Join(a.Inputs, "; "), strings.Join(b.Inputs, "; "))
	return out
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
