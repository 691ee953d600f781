package ops

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/schema"
)

const dumps = "../../testdata/aten/2.15"

// lines reads a text file, less empty lines and comments.
func lines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	var out []string
	for l := range strings.Lines(string(b)) {
		if l = strings.TrimSpace(l); l != "" && l[0] != '#' {
			out = append(out, l)
		}
	}
	return out
}

// registered are PyTorch's schemas by key, and its overloads by name in the order it tries them.
func registered(t *testing.T) (byKey map[string]string, byName map[string][]string) {
	byKey, byName = map[string]string{}, map[string][]string{}
	for _, l := range lines(t, filepath.Join(dumps, "schemas.txt")) {
		byKey[schema.KeyOf(l)] = l
		byName[schema.NameOf(l)] = append(byName[schema.NameOf(l)], schema.KeyOf(l))
	}
	return byKey, byName
}

// TestSchemas compares every row's schema with PyTorch's own text.
func TestSchemas(t *testing.T) {
	byKey, _ := registered(t)
	table := Builtin()
	for _, key := range table.Keys() {
		b, ok := table.Lookup(key)
		if !assert.True(t, ok, "%s: its schema does not parse", key) {
			continue
		}
		if why := notInDump(key); why == "" {
			assert.Equal(t, byKey[key], b.Rule.Schema)
		}
	}
}

// notInDump says why a key is not among the dumped schemas: operators of libraries that the dump did not load.
func notInDump(key string) string {
	for _, ns := range [...]string{"memspec::"} {
		if strings.HasPrefix(key, ns) {
			return "registered by another library"
		}
	}
	return ""
}

// writesOut finds a keyword-only tensor that is written: the out= form of an operator.
var writesOut = regexp.MustCompile(`\*, .*Tensor(\[\])?\(\w!\).*\) ->`)

// TestOverloads checks that a name with a rule has all its overloads, out= forms apart, and that those that take tensors stand in PyTorch's
// order: another order, or a gap, resolves calls to the wrong one. Overloads on numbers, strings and containers are told apart by type.
func TestOverloads(t *testing.T) {
	byKey, byName := registered(t)
	const path = "testdata/overloads.txt"
	excluded := reasons(t, path)
	table := Builtin()
	var missing []string
	for i := range table.rows {
		name := schema.NameOf(table.rows[i].rule.Schema)
		if table.first(name) != &table.rows[i] {
			continue
		}
		var want, got []string
		for r := &table.rows[i]; r != nil; r = r.next {
			if key := schema.KeyOf(r.rule.Schema); ordered(r.rule.Schema) && byKey[key] != "" {
				got = append(got, key)
			}
		}
		for _, key := range byName[name] {
			if _, ok := table.Lookup(key); ok {
				if ordered(byKey[key]) {
					want = append(want, key)
				}
			} else if !writesOut.MatchString(byKey[key]) {
				missing = append(missing, key)
			}
		}
		assert.Equal(t, want, got, "the order of %s", name)
	}
	compareList(t, path, excluded, missing)
}

// ordered says that the place among the overloads matters: who gives an out takes an out= overload, and nobody else does.
func ordered(text string) bool { return takesTensor(text) && !writesOut.MatchString(text) }

func takesTensor(text string) bool {
	args, _, _ := strings.Cut(text, ") -> ")
	return strings.Contains(args, "Tensor") && !strings.Contains(args, "t[]") && !strings.Contains(args, "Dict(")
}

// TestRulesHaveSamples checks that a recorded call runs every rule, but for those listed with a reason.
func TestRulesHaveSamples(t *testing.T) {
	sampled := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(dumps, "samples", "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		scan := bufio.NewScanner(f)
		scan.Buffer(nil, 1<<24)
		for scan.Scan() {
			var s struct{ Op, Overload string }
			require.NoError(t, json.Unmarshal(scan.Bytes(), &s))
			if s.Overload != "" {
				s.Op += "." + s.Overload
			}
			sampled[s.Op] = true
		}
		require.NoError(t, scan.Err())
		require.NoError(t, f.Close())
	}
	const path = "testdata/unsampled.txt"
	var missing []string
	for _, key := range Builtin().Keys() {
		if !sampled[key] {
			missing = append(missing, key)
		}
	}
	compareList(t, path, reasons(t, path), missing)
}

// compareList compares a list of exceptions with what is missing; MEMSPEC_UPDATE=1 writes the list anew, new keys without a reason yet.
func compareList(t *testing.T, path string, listed map[string]string, missing []string) {
	t.Helper()
	if os.Getenv("MEMSPEC_UPDATE") != "" {
		maps.DeleteFunc(listed, func(key, _ string) bool { return !slices.Contains(missing, key) })
		for _, key := range missing {
			if listed[key] == "" {
				listed[key] = "not yet"
			}
		}
		writeReasons(t, path, listed)
	}
	for _, key := range missing {
		assert.NotEmpty(t, listed[key], "%s is missing and not in %s", key, path)
		delete(listed, key)
	}
	assert.Empty(t, listed, "in %s, and not missing", path)
}

// writeReasons keeps the list's first line and writes keys by reason.
func writeReasons(t *testing.T, path string, listed map[string]string) {
	t.Helper()
	old, err := os.ReadFile(path)
	require.NoError(t, err)
	head, _, _ := strings.Cut(string(old), "\n")
	by := map[string][]string{}
	for key, why := range listed {
		by[why] = append(by[why], key)
	}
	var b strings.Builder
	b.WriteString(head + "\n")
	for _, why := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[why])
		b.WriteString("\n")
		for keys := range slices.Chunk(by[why], 5) {
			b.WriteString(why + ": " + strings.Join(keys, " ") + "\n")
		}
	}
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
}

// reasons reads a list of keys, each line "reason: key key …".
func reasons(t *testing.T, path string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, l := range lines(t, path) {
		why, keys, ok := strings.Cut(l, ": ")
		require.True(t, ok, l)
		for key := range strings.FieldsSeq(keys) {
			require.NotContains(t, out, key, "twice in %s", path)
			out[key] = why
		}
	}
	return out
}

// TestGrad checks that Grad names arguments.
func TestGrad(t *testing.T) {
	for _, key := range Builtin().Keys() {
		b, ok := Builtin().Lookup(key)
		if !ok || b.Rule.Grad == "" {
			continue
		}
		for entry := range strings.SplitSeq(b.Rule.Grad, ";") {
			name, _, ok := strings.Cut(strings.TrimSpace(entry), ":")
			require.True(t, ok, key)
			assert.GreaterOrEqual(t, b.Schema.ArgIndex(strings.TrimSpace(name)), 0, "%s: %s", key, name)
		}
	}
}
