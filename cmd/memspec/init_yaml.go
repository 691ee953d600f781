package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
)

// schemaLine shows editors what a memspec.yaml may hold.
const schemaLine = "# yaml-language-server: " +
	"$schema=https://raw.githubusercontent.com/memspec/memspec/main/engine/spec/memspec.schema.json\n"

func (file *initFile) yaml() string {
	var b strings.Builder
	b.WriteString(schemaLine)
	fmt.Fprintf(&b, "# Budgets are what memspec init predicted (where that is an estimate, what it may be at most) and "+
		"%s more, rounded up to whole MiB.\n", file.text)
	if command, n := file.settle(); n > 0 && command != "" {
		fmt.Fprintf(&b, "# %s on upper figures of an estimate; to make it exact: %s, then memspec update --tighten\n",
			counted(n, "budget rests", "budgets rest"), command)
	}
	for _, left := range file.left {
		fmt.Fprintf(&b, "# left out: %s\n", left)
	}
	first := file.models[0].results[0]
	fmt.Fprintf(&b, "version: 1\ndefaults:\n  device: %s\n  runtime: %s\n  torch: %s\n", first.Report.Device,
		first.Report.Runtime, first.Report.Torch)
	if conf := file.flags.AllocConf; conf != "" {
		fmt.Fprintf(&b, "  alloc_conf: %s\n", yamlText(conf))
	}
	b.WriteString("models:\n")
	for i := range file.models {
		file.write(&b, &file.models[i])
	}
	return b.String()
}

func (file *initFile) write(b *strings.Builder, m *initModel) {
	fmt.Fprintf(b, "  %s:\n    artifact: %s\n", yamlText(m.name), yamlText(filepath.ToSlash(m.artifact)))
	if m.from != "" && len(m.inputs) > 0 {
		fmt.Fprintf(b, "    # %s\n", m.from)
	}
	writeInputs(b, m.inputs)
	first := m.results[0]
	if len(first.Case.Dims) == 0 {
		fmt.Fprintf(b, "    budget: %s%s\n", file.budget(first.Report), whyAbove(first.Report))
		return
	}
	b.WriteString("    cases:\n")
	for _, r := range m.results {
		fmt.Fprintf(b, "      - dims: {%s}\n        budget: %s%s\n", dimsText(r.Case.Dims), file.budget(r.Report),
			whyAbove(r.Report))
	}
}

func writeInputs(b *strings.Builder, inputs []spec.Input) {
	if len(inputs) == 0 {
		return
	}
	named := true
	for _, in := range inputs {
		named = named && in.Name != ""
	}
	parts := make([]string, len(inputs))
	for i, in := range inputs {
		parts[i] = strconv.Quote(in.Value.String())
		if named {
			parts[i] = yamlText(in.Name) + ": " + parts[i]
		}
	}
	if named {
		fmt.Fprintf(b, "    inputs: {%s}\n", strings.Join(parts, ", "))
	} else {
		fmt.Fprintf(b, "    inputs: [%s]\n", strings.Join(parts, ", "))
	}
}

func dimsText(dims []spec.Dim) string {
	parts := make([]string, len(dims))
	for i, d := range dims {
		parts[i] = fmt.Sprintf("%s: %d", d.Name, d.Value)
	}
	return strings.Join(parts, ", ")
}

func (file *initFile) budget(r *report.Report) string {
	return fmt.Sprintf("{allocated: %s, reserved: %s}", withHeadroom(r, report.Allocated, file.headroom),
		withHeadroom(r, report.Reserved, file.headroom))
}

// whyAbove is a comment beside a budget that rests on upper figures above the likely ones; "" where
// it does not.
func whyAbove(r *report.Report) string {
	if !restsOnUpper(r) {
		return ""
	}
	return fmt.Sprintf("  # upper figures of an estimate; likely: allocated %s, reserved %s", r.Peak.Allocated,
		r.Peak.Reserved)
}

// restsOnUpper says whether a budget of a report is made from figures above the likely ones.
func restsOnUpper(r *report.Report) bool {
	return r.Upper != nil && (r.Upper.Allocated > r.Peak.Allocated || r.Upper.Reserved > r.Peak.Reserved)
}

// settle is the command that makes the upper figures of a file's cases exact, and how many rest on
// such; 0 where none does.
func (file *initFile) settle() (command string, cases int) {
	for _, m := range file.models {
		for _, r := range m.results {
			if !restsOnUpper(r.Report) {
				continue
			}
			cases++
			for _, n := range r.Report.Notes {
				if n.Settle != "" && command == "" {
					command = n.Settle
				}
			}
		}
	}
	return command, cases
}

// withHeadroom is a budget for what a report reports, in whole MiB.
func withHeadroom(r *report.Report, m report.Metric, share float64) string {
	v, ok := r.UpperValue(m)
	if !ok {
		v, _ = r.Value(m)
	}
	v = v.Add(units.Bytes(float64(v) * share))
	return fmt.Sprintf("%dMiB", int64(v.RoundUp(units.MiB)/units.MiB))
}

// modelName is the artifact's file name without its extensions: resnet50 for
// models/resnet50.script.pt.
func modelName(artifact string) string {
	base := filepath.Base(artifact)
	if i := strings.IndexByte(base, '.'); i > 0 {
		base = base[:i]
	}
	return base
}

// yamlText is s as a YAML scalar, quoted where plain text would mean something else.
func yamlText(s string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"
	word := s != "" && strings.Trim(s, safe) == "" && s[0] != '-' && (s[0] < '0' || s[0] > '9') && s[0] != '.'
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		word = false
	}
	if word {
		return s
	}
	return strconv.Quote(s)
}
