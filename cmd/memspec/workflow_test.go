package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

type workflow struct {
	Name        string
	On          yaml.Node
	Permissions map[string]string
	Jobs        map[string]struct {
		If          string
		Permissions map[string]string
		Steps       []step
	}
}

func readWorkflow(t *testing.T, name string) *workflow {
	t.Helper()
	var w workflow
	require.NoError(t, yaml.Unmarshal([]byte(published(t, name)), &w))
	return &w
}

// The two workflows fit each other: the one that runs what a fork sent has no token, the one that has it checks out nothing.
func TestWorkflowsFit(t *testing.T) {
	check, comment := readWorkflow(t, "examples/ci/pre-merge.yml"), readWorkflow(t, "examples/ci/comment.yml")
	var on struct {
		Run struct{ Workflows, Types []string } `yaml:"workflow_run"`
	}
	require.NoError(t, comment.On.Decode(&on))
	assert.Equal(t, []string{check.Name}, on.Run.Workflows)
	assert.Equal(t, []string{"completed"}, on.Run.Types, "also where a budget is broken")
	assert.Equal(t, "pull_request", check.On.Value, "not pull_request_target, which has the repository's secrets")
	assert.Empty(t, check.Permissions)
	kept := map[string]string{}
	for _, s := range check.Jobs["budgets"].Steps {
		if s.Uses == "actions/upload-artifact@v4" {
			kept = s.With
		}
	}
	match, err := filepath.Match(kept["path"], "memory.md")
	require.NoError(t, err)
	assert.True(t, match)
	for _, s := range comment.Jobs["comment"].Steps {
		assert.NotContains(t, s.Uses, "checkout")
		assert.Empty(t, s.Run)
		if s.Uses == "actions/download-artifact@v4" {
			assert.Equal(t, kept["name"], s.With["name"])
		}
	}
}

// The script of comment.yml as actions/github-script runs it, with a stand-in for GitHub: one comment, which later runs rewrite.
func TestCommentScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("got no node, which runs the script")
	}
	script := ""
	for _, s := range readWorkflow(t, "examples/ci/comment.yml").Jobs["comment"].Steps {
		if s.Uses == "actions/github-script@v7" {
			script = s.With["script"]
		}
	}
	require.NotEmpty(t, script)
	const harness = `
const given = JSON.parse(process.argv[2]), done = []
const rest = {
  pulls: {list: 'pulls'},
  issues: {listComments: 'comments', updateComment: async a => done.push(['update', a]), createComment: async a => done.push(['create', a])},
}
const github = {rest, paginate: async (what, args) => { done.push([what, args]); return given[what] }}
const context = {repo: {owner: 'o', repo: 'r'}, payload: {workflow_run: {head_sha: 'abc'}}}
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor
new AsyncFunction('require', 'github', 'context', given.script)(require, github, context).then(() => console.log(JSON.stringify(done)))
`
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run.js"), []byte(harness), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "memory.md"), []byte("### memspec: 1 fail\n"), 0o666))
	pull := map[string]any{"number": 7, "head": map[string]any{"sha": "abc"}}
	other := map[string]any{"number": 6, "head": map[string]any{"sha": "def"}}
	for _, tt := range []struct {
		name            string
		pulls, comments []any
		want            string
	}{
		{"the first", []any{other, pull}, []any{map[string]any{"id": 1, "body": "looks good"}},
			`[["pulls",{"owner":"o","repo":"r","state":"open"}],["comments",{"owner":"o","repo":"r","issue_number":7}],` +
				`["create",{"owner":"o","repo":"r","issue_number":7,"body":"<!-- memspec -->\n### memspec: 1 fail\n"}]]`},
		{"once more", []any{pull}, []any{map[string]any{"id": 1, "body": "looks good"}, map[string]any{"id": 2, "body": "<!-- memspec -->\nbefore"}},
			`[["pulls",{"owner":"o","repo":"r","state":"open"}],["comments",{"owner":"o","repo":"r","issue_number":7}],` +
				`["update",{"owner":"o","repo":"r","comment_id":2,"body":"<!-- memspec -->\n### memspec: 1 fail\n"}]]`},
		{"closed meanwhile", []any{other}, nil, `[["pulls",{"owner":"o","repo":"r","state":"open"}]]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			given, err := json.Marshal(map[string]any{"script": script, "pulls": tt.pulls, "comments": tt.comments})
			require.NoError(t, err)
			cmd := exec.Command(node, "run.js", string(given))
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			assert.JSONEq(t, tt.want, string(out))
		})
	}
}
