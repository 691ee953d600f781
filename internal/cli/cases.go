package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/spec"
)

// selectCases marks the case of exactly that name, else all whose names match with * and ? as the
// only special characters.
func selectCases(cases []spec.Case, pattern string, keep []bool) bool {
	found := false
	for i := range cases {
		if cases[i].Name == pattern {
			keep[i], found = true, true
		}
	}
	if found {
		return true
	}
	for i := range cases {
		if match(pattern, cases[i].Name) {
			keep[i], found = true, true
		}
	}
	return found
}

// match is path.Match without brackets and escapes: case names hold brackets.
func match(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	star, resume := -1, 0
	i, j := 0, 0
	for j < len(n) {
		switch {
		case i < len(p) && p[i] == '*':
			star, resume = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == n[j]):
			i++
			j++
		case star >= 0:
			resume++
			i, j = star+1, resume
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

func noCase(path, pattern string, cases []spec.Case) error {
	names := make([]string, len(cases))
	for i := range cases {
		names[i] = cases[i].Name
	}
	if near := spec.Nearest(pattern, names); near != "" {
		return fmt.Errorf("%s: got no case %q, did you mean %q?", path, pattern, near)
	}
	const most = 5
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(cases)-most))
	}
	return fmt.Errorf("%s: got no case %q, want one of %s", path, pattern, strings.Join(names, ", "))
}

// CaseFlag adds --case, completed from the file on the command line.
func CaseFlag(cmd *cobra.Command) *[]string {
	patterns := new([]string)
	RepeatedFlag(cmd.Flags(), patterns, "case", "",
		"only the case of this `NAME`: its exact name, else with * and ?; repeats")
	_ = cmd.RegisterFlagCompletionFunc("case",
		func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			files, err := SpecFiles(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			cases, err := LoadCases(files, nil)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			names := make([]string, len(cases))
			for i := range cases {
				names[i] = cases[i].Name
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		})
	return patterns
}

// DeviceFlag adds --device to a command that reads cases.
func DeviceFlag(cmd *cobra.Command) *string {
	name := cmd.Flags().String("device", "",
		"the cases on this GPU, by its `NAME`, instead of those of memspec.yaml; see memspec devices")
	_ = cmd.RegisterFlagCompletionFunc("device",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return device.Names(), cobra.ShellCompDirectiveNoFileComp
		})
	return name
}

// OnDevice puts cases on another device. Cases that are distinguished by their device alone are
// then one.
func OnDevice(cases []spec.Case, name string) ([]spec.Case, error) {
	if name == "" {
		return cases, nil
	}
	var out []spec.Case
	seen := map[string]bool{}
	for i := range cases {
		c, err := cases[i].OnNamed(name)
		if err != nil {
			return nil, fmt.Errorf("--device: %w", err)
		}
		if key := CaseKey(c.Pos.File, c.Name); !seen[key] {
			seen[key] = true
			out = append(out, c)
		}
	}
	return out, nil
}

// SetFlag adds --set to a command that reads cases.
func SetFlag(cmd *cobra.Command) *[]string {
	lines := new([]string)
	RepeatedFlag(cmd.Flags(), lines, "set", "",
		"the cases as if this `LINE` stood in each of them, such as 'accumulate: 2'; repeats")
	return lines
}

// WithLines is cases as if each had further lines.
func WithLines(cases []spec.Case, lines []string) ([]spec.Case, error) {
	if len(lines) == 0 {
		return cases, nil
	}
	out := make([]spec.Case, len(cases))
	for i := range cases {
		c, err := cases[i].WithLines(lines...)
		if err != nil {
			return nil, err
		}
		out[i] = c
	}
	return out, nil
}

// CompleteSpecs offers YAML files.
func CompleteSpecs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}
