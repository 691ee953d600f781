package aten

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/schema"
)

// Registered are PyTorch's schemas by key, and its overloads by name in the order in which it tries
// them.
func Registered(t *testing.T) (byKey map[string]string, byName map[string][]string) {
	t.Helper()
	byKey, byName = map[string]string{}, map[string][]string{}
	for _, l := range lines(t, filepath.Join(dumps(t), "schemas.txt")) {
		byKey[schema.KeyOf(l)] = l
		byName[schema.NameOf(l)] = append(byName[schema.NameOf(l)], schema.KeyOf(l))
	}
	return byKey, byName
}

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

// CompareList compares a list of exceptions with what is missing; MEMSPEC_UPDATE=1 writes the list
// anew, new keys without a reason yet.
func CompareList(t *testing.T, path string, missing []string) {
	t.Helper()
	listed := exceptions(t, path)
	if golden.Updating() {
		maps.DeleteFunc(listed, func(key, _ string) bool { return !slices.Contains(missing, key) })
		for _, key := range missing {
			if listed[key] == "" {
				listed[key] = "not yet"
			}
		}
		writeReasons(t, path, listed)
	}
	slices.Sort(missing)
	for _, key := range missing {
		assert.NotEmpty(t, listed[key], "%s is missing and not in %s", key, path)
		delete(listed, key)
	}
	assert.Empty(t, listed, "in %s, and not missing", path)
}

// writeReasons keeps the list's first line and writes keys by reason. Without keys there need be no
// file.
func writeReasons(t *testing.T, path string, listed map[string]string) {
	t.Helper()
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if len(listed) == 0 {
			return
		}
		old, err = []byte("# "+filepath.Base(path)), nil
	}
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
	golden.Write(t, path, []byte(b.String()))
}
