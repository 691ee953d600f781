package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The guide's served cases are judged as it says, by recordings that python -m memshim capture made of
// them with vLLM 0.19.0.
func TestGuideServing(t *testing.T) {
	page := published(t, "docs/guide/serving.md")
	f := newReadmeFolder(t)
	yaml := regexp.MustCompile("(?s)\n```yaml\n(version: 1\n.*?)\n```").FindStringSubmatch(page)
	require.NotNil(t, yaml)
	f.write("memspec.yaml", yaml[1])
	config, err := os.ReadFile("../../testdata/serving/configs.json")
	require.NoError(t, err)
	var configs map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(config, &configs))
	require.NoError(t, os.MkdirAll(filepath.Join(f.dir, "models/qwen3-8b"), 0o777))
	f.write("models/qwen3-8b/config.json", string(configs["Qwen3-8B"]))
	require.NoError(t, os.Mkdir(filepath.Join(f.dir, ".memspec"), 0o777))
	for _, name := range recordings(t, f) {
		copyTo(t, "../../testdata/serving/guide/"+filepath.Base(name), filepath.Join(f.dir, name))
	}

	code, out := f.run("COLUMNS=100 memspec check")
	assert.Zero(t, code, out)
	assert.NotContains(t, out, "artifact-stale")
	block := regexp.MustCompile("(?s)\n```\n\\$ memspec check\n(.*?)\n…\n```").FindStringSubmatch(page)
	require.NotNil(t, block)
	assert.True(t, strings.HasPrefix(out, block[1]+"\n"), "got\n%s\nwant\n%s", out, block[1])
}

// recordings are where the cases of memspec.yaml have theirs.
func recordings(t *testing.T, f *readmeFolder) []string {
	t.Helper()
	code, out := f.run("memspec cases --format json")
	require.Zero(t, code, out)
	var cases struct {
		Cases []struct{ Recording string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &cases))
	var found []string
	for _, c := range cases.Cases {
		found = append(found, c.Recording)
	}
	require.Len(t, found, 2)
	return found
}
