package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// CaptureFolder is the folder beside a memspec.yaml that holds the recordings of its cases that
// have no artifact.
const CaptureFolder = ".memspec"

// RanksSuffix names the file beside the recordings of ranks that lists them
// (engine/recording/FORMAT.md).
const RanksSuffix = ".ranks.json"

// captureVersion is in every key: a change of what the key is made of finds no older file.
const captureVersion = 1

// Captured is the path of the recording that a case with a program, or with a source and without an
// artifact, is predicted from, whether it is there or not; "" of others. Of a case of several ranks
// it is the file that lists their recordings. Its name holds a key of what the run depends on and
// the recording does not record itself (engine/recording/FORMAT.md).
func (c *Case) Captured() string {
	if c.Artifact != "" || c.Source == "" && c.Program == nil {
		return ""
	}
	name := fileName(c.Model)
	if name == "" { // a case that was written in Go
		name = "case"
	}
	path := filepath.Join(c.Dir, CaptureFolder, name+"-"+c.captureKey())
	switch {
	case c.EveryRank():
		return path + RanksSuffix
	case c.Rank != nil:
		return fmt.Sprintf("%s.rank%d.rec", path, *c.Rank)
	}
	return path + ".rec"
}

// captureKey is 16 hexadecimal digits. Not in it are what a replay can choose: allocator settings,
// the fraction, and memory (a program may catch that it runs out and go on with less, so of one it
// counts); and what the recording reports itself: the source's files.
func (c *Case) captureKey() string {
	p := &c.Platform
	h := sha256.New()
	line := func(name string, value any) { fmt.Fprintf(h, "%s=%q\n", name, fmt.Sprint(value)) }
	line("version", captureVersion)
	if c.Program != nil { // it decides the rest itself
		line("program", c.Program.text())
		line("memory", int64(p.Device.Memory))
	} else {
		c.modelKey(line)
	}
	if !c.Program.Serves() { // torch comes with the engine, which the recording names
		line("cublas", p.CublasConfig())
		line("torch", p.Torch)
	}
	line("device", p.Device.Name)
	line("capability", p.Device.ComputeCapability)
	line("sms", p.Device.SMs)
	for _, a := range c.Assume {
		if a.Values != "" {
			line("assume", a.Line+"="+a.Values)
			continue
		}
		line("assume", fmt.Sprintf("%s=%d", a.Line, a.Size))
	}
	if c.Program == nil {
		line("training", trainingText(c.Training))
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// modelKey is the part of the key that says how a model is run.
func (c *Case) modelKey(line func(name string, value any)) {
	p := &c.Platform
	line("source", filepath.ToSlash(c.Source))
	for _, in := range c.Inputs {
		line("input", in.String())
	}
	for _, in := range c.IterationInputs {
		line("iteration", InputTexts(in))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Lengths)) {
		line("lengths "+name, c.Lengths[name])
	}
	line("mode", c.Mode)
	line("runtime", c.Runtime)
	line("grad", c.Grad)
	line("dtype", c.DType)
	line("autocast", p.Autocast)
	line("flags", [...]bool{p.TF32Matmul, p.TF32CuDNN, p.Benchmark, p.Deterministic, p.CuDNNv7})
	if p.Attention != 0 {
		line("attention", p.Attention.Names())
	}
}

// fileName is a name of which every file system can have a file.
func fileName(name string) string {
	const most = 40
	var b strings.Builder
	for _, c := range name {
		switch {
		case b.Len() == most:
			return b.String()
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteRune(c)
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}
