package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/spec"
)

// docs/reference is made from what the program itself uses: the schema of memspec.yaml, the
// commands, the notes.
func TestReferenceOfTheSpec(t *testing.T) {
	referenceFile(t, "../../docs/reference/memspec-yaml.md", specReference(t))
}

func TestReferenceOfTheCommands(t *testing.T) {
	referenceFile(t, "../../docs/reference/cli.md", cliReference())
}

func TestReferenceOfTheNotes(t *testing.T) {
	referenceFile(t, "../../docs/reference/notes.md", notesReference())
}

// referenceFile compares a page with what it is made from, or writes it.
func referenceFile(t *testing.T, path, want string) {
	t.Helper()
	if os.Getenv("MEMSPEC_UPDATE") == "1" {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s (-want +got; MEMSPEC_UPDATE=1 go test ./cmd/memspec -run Reference writes it):\n%s", path, diff)
	}
}

const generated = "<!-- Generated from %s: MEMSPEC_UPDATE=1 go test ./cmd/memspec -run Reference -->\n\n"

type schema struct {
	Ref                  string             `json:"$ref"`
	Description          string             `json:"description"`
	Type                 any                `json:"type"`
	Enum                 []any              `json:"enum"`
	Default              any                `json:"default"`
	Examples             []any              `json:"examples"`
	Deprecated           bool               `json:"deprecated"`
	OneOf                []*schema          `json:"oneOf"`
	AnyOf                []*schema          `json:"anyOf"`
	Items                *schema            `json:"items"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties any                `json:"additionalProperties"`
	Defs                 map[string]*schema `json:"$defs"`
}

// specReference is every key of memspec.yaml: its type, default, example and meaning.
func specReference(t *testing.T) string {
	var root schema
	require.NoError(t, json.Unmarshal(spec.Schema, &root))
	settings := root.Defs["settings"].Properties
	onlyHere := func(all map[string]*schema) map[string]*schema {
		own := map[string]*schema{}
		for name, s := range all {
			if settings[name] == nil {
				own[name] = s
			}
		}
		return own
	}
	var b strings.Builder
	fmt.Fprintf(&b, generated, "engine/spec/memspec.schema.json")
	b.WriteString(`# memspec.yaml

A memspec.yaml has ` + "`version: 1`" + ` and ` + "`models:`" + `, and may have ` +
		"`defaults:`, `devices:` and `ops:`" + `. Keys
that begin with ` + "`x-`" + ` are not read; they are a place for YAML anchors. An unknown key is an error at
its line. ` + "`memspec schema spec`" + ` prints the JSON Schema for editors.

Sizes are in bytes, or with a unit: KiB, MiB, GiB, TiB (powers of 1024). A budget may also be a
share of the device's memory (` + "`60%`" + `) or an expression over the dims (` + "`98MiB + 12MiB*B`" + `). A
figure exactly at its limit passes.

`)
	section := func(title, text string, keys map[string]*schema) {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n| key | type | default | example | meaning |\n|---|---|---|---|---|\n", title, text)
		for _, name := range slices.Sorted(maps.Keys(keys)) {
			s := keys[name]
			if s.Deprecated {
				continue
			}
			r := s.resolved(&root)
			assert.NotEmpty(t, r.Description, "%s: %s: got no description in the schema", title, name)
			assert.NotEmpty(t, r.Examples, "%s: %s: got no example in the schema", title, name)
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", name, cell(r.kind(&root)), code(r.Default),
				code(first(r.Examples)), cell(r.Description))
		}
		b.WriteString("\n")
	}
	section("Settings", "In `defaults:` (except `fits`), in a model, or in a case. The closest one decides.", settings)
	section("A model", "Below `models:`, by name. It has the settings above and these keys. It needs one of\n"+
		"`artifact:`, `source:`, `program:`, `module:` and `serve:`.", onlyHere(root.Defs["model"].Properties))
	section("A case", "In `cases:` of a model. It has the settings above and these keys.",
		onlyHere(root.Defs["case"].Properties))
	section("Metrics", "Below `budget:` and `regression:`; `kv_tokens` and `concurrency` below `at_least:` and\n"+
		"`regression:`.", root.Defs["regression"].Properties)
	section("A device", "Below `devices:`, by name. One named like a row of `memspec devices` starts from that row.",
		mapValues(t, root.Properties["devices"]))
	section("An operator", "Below `ops:`, by PyTorch's schema, such as `my::op(Tensor x) -> Tensor`.",
		mapValues(t, root.Properties["ops"]))
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// resolved is a schema with what its $ref adds.
func (s *schema) resolved(root *schema) *schema {
	if s.Ref == "" {
		return s
	}
	path := strings.Split(strings.TrimPrefix(s.Ref, "#/$defs/"), "/")
	to := root.Defs[path[0]]
	if len(path) == 3 {
		to = to.Properties[path[2]]
	}
	out := *to.resolved(root)
	if s.Description != "" {
		out.Description = s.Description
	}
	if len(s.Examples) > 0 {
		out.Examples = s.Examples
	}
	if s.Default != nil {
		out.Default = s.Default
	}
	return &out
}

// kind is the type in words.
func (s *schema) kind(root *schema) string {
	if s.Ref == "#/$defs/value" { // it holds itself
		return "input"
	}
	s = s.resolved(root)
	if len(s.Enum) > 0 {
		words := make([]string, 0, len(s.Enum))
		for _, v := range s.Enum {
			if text := fmt.Sprint(v); !strings.HasPrefix(text, "torch.") {
				words = append(words, text)
			}
		}
		if len(words) > 12 {
			return "name"
		}
		return strings.Join(words, ", ")
	}
	if either := append(slices.Clone(s.OneOf), s.AnyOf...); len(either) > 0 {
		var kinds []string
		for _, e := range either {
			if k := e.kind(root); !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
		return strings.Join(kinds, " or ")
	}
	switch types := s.Type.(type) {
	case []any:
		var words []string
		for _, w := range types {
			words = append(words, fmt.Sprint(w))
		}
		return strings.Join(words, " or ")
	case string:
		if types == "array" && s.Items != nil {
			return "list of " + s.Items.kind(root)
		}
		if types == "object" {
			return "mapping"
		}
		return types
	}
	return "any"
}

// mapValues are the keys of each value of a mapping.
func mapValues(t *testing.T, s *schema) map[string]*schema {
	text, err := json.Marshal(s.AdditionalProperties)
	require.NoError(t, err)
	var value schema
	require.NoError(t, json.Unmarshal(text, &value))
	return value.Properties
}

func first(values []any) any {
	if len(values) == 0 {
		return nil
	}
	return values[0]
}

// code is a value as memspec.yaml writes it on one line.
func code(v any) string {
	if v == nil {
		return ""
	}
	if text, ok := v.(string); ok {
		return "`" + cell(text) + "`"
	}
	var node yaml.Node
	if err := node.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	node.Style = yaml.FlowStyle
	text, err := yaml.Marshal(&node)
	if err != nil {
		return fmt.Sprint(v)
	}
	return "`" + cell(strings.TrimSpace(string(text))) + "`"
}

// cell keeps a text within its cell of a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
}

// cliReference is every command with its flags.
func cliReference() string {
	var b strings.Builder
	fmt.Fprintf(&b, generated, "the commands themselves")
	b.WriteString("# memspec\n\nExit codes: 0 all pass; 1 a budget is broken; 2 wrong usage, unreadable spec or\n" +
		"artifact; 3 undecided; 130 interrupted.\n\n")
	commands := newRoot().Commands()
	slices.SortFunc(commands, func(a, b *cobra.Command) int { return strings.Compare(a.Name(), b.Name()) })
	for _, c := range commands {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		long := c.Long
		if long == "" {
			long = c.Short + "."
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n    %s\n", c.Name(), wrap(long), c.UseLine())
		if c.Example != "" {
			fmt.Fprintf(&b, "\nExamples:\n\n%s\n", indent(c.Example))
		}
		if c.HasAvailableFlags() {
			fmt.Fprintf(&b, "\nFlags:\n\n%s", indent(strings.TrimRight(c.LocalFlags().FlagUsagesWrapped(96), "\n")))
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// wrap lays paragraphs out to the width of prose.
func wrap(text string) string {
	var b strings.Builder
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString("\n")
		}
		layout.To(layout.Wide(&b, 100)).Indented(0, 0, strings.Join(strings.Fields(paragraph), " "))
	}
	return strings.TrimRight(b.String(), "\n")
}

func indent(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = "    " + strings.TrimPrefix(line, "  ")
		}
	}
	return strings.Join(lines, "\n")
}

// notesReference is what each note means.
func notesReference() string {
	var b strings.Builder
	fmt.Fprintf(&b, generated, "engine/note")
	b.WriteString("# Notes\n\n" +
		"A note says what a figure rests on. `allow:` in memspec.yaml names notes that do not make a\n" +
		"verdict inconclusive; `judge: likely` judges figures that may be too low as they are.\n\n" +
		"| note | meaning | verdict |\n|---|---|---|\n")
	for _, k := range note.Kinds() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.ID, cell(k.Meaning), k.Effect)
	}
	return b.String()
}
