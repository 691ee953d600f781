package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
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

// uses says whether a step runs an action, at any commit.
func uses(s step, action string) bool {
	name, _, _ := strings.Cut(s.Uses, "@")
	return name == action
}

// Every action is named by its commit: a tag can be moved.
func TestActionsByCommit(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	files = append(files, "../../action.yml", "../../examples/ci/pre-merge.yml", "../../examples/ci/comment.yml")
	byCommit := regexp.MustCompile(`uses: [a-z-]+/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		seen := 0
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, " uses: ") && !strings.HasPrefix(line, "#") {
				seen++
				assert.Regexp(t, byCommit, strings.TrimSuffix(line, "\n"), name)
			}
		}
		assert.NotZero(t, seen, name)
	}
}

func readWorkflow(t *testing.T, name string) *workflow {
	t.Helper()
	var w workflow
	require.NoError(t, yaml.Unmarshal([]byte(published(t, name)), &w))
	return &w
}

// The two workflows fit each other: the one that runs what a fork sent has no token, the one that
// has it checks out nothing.
func TestWorkflowsFit(t *testing.T) {
	check, comment := readWorkflow(t, "examples/ci/pre-merge.yml"), readWorkflow(t, "examples/ci/comment.yml")
	var on struct {
		Run struct{ Workflows, Types []string } `yaml:"workflow_run"`
	}
	require.NoError(t, comment.On.Decode(&on))
	assert.Equal(t, []string{check.Name}, on.Run.Workflows)
	assert.Equal(t, []string{"completed"}, on.Run.Types, "also where a budget is broken")
	assert.Equal(t, "pull_request", check.On.Value, "not pull_request_target, which has the repository's secrets")
	assert.Equal(t, map[string]string{"contents": "read"}, check.Permissions)
	assert.Empty(t, comment.Permissions)
	assert.Equal(t, map[string]string{"pull-requests": "write", "actions": "read"}, comment.Jobs["comment"].Permissions)
	kept := map[string]string{}
	for _, s := range check.Jobs["budgets"].Steps {
		if uses(s, "actions/upload-artifact") {
			kept = s.With
		}
	}
	match, err := filepath.Match(kept["path"], "memory.txt")
	require.NoError(t, err)
	assert.True(t, match)
	for _, s := range comment.Jobs["comment"].Steps {
		assert.NotContains(t, s.Uses, "checkout")
		assert.Empty(t, s.Run)
		if uses(s, "actions/download-artifact") {
			assert.Equal(t, kept["name"], s.With["name"])
		}
	}
}

// The script of comment.yml as actions/github-script runs it, with a stub for GitHub: one comment,
// which later runs rewrite.
func TestCommentScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("got no node, which runs the script")
	}
	script := ""
	for _, s := range readWorkflow(t, "examples/ci/comment.yml").Jobs["comment"].Steps {
		if uses(s, "actions/github-script") {
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
const run = {head_sha: 'abc', head_branch: 'fix', html_url: 'https://example.invalid/run', head_repository: {id: 5, owner: {login: 'fork'}}, pull_requests: given.of || []}
const context = {repo: {owner: 'o', repo: 'r'}, payload: {workflow_run: run}}
const core = {info: text => done.push(['info', text])}
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor
new AsyncFunction('require', 'github', 'context', 'core', given.script)(require, github, context, core).then(() => console.log(JSON.stringify(done)))
`
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run.js"), []byte(harness), 0o666))
	head := func(sha string, repository int) map[string]any {
		return map[string]any{"sha": sha, "ref": "fix", "repo": map[string]any{"id": repository}}
	}
	pull := map[string]any{"number": 7, "head": head("abc", 5)}
	listed := `["pulls",{"owner":"o","repo":"r","state":"open","head":"fork:fix"}]`
	comments := func(number string) string {
		return `["comments",{"owner":"o","repo":"r","issue_number":` + number + `}]`
	}
	body := func(text string) string {
		quoted,
			err := json.Marshal("<!-- memspec -->\nGPU memory, as [the run](https://example.invalid/run) reported it:\n\n" +
			text + "\n")
		require.NoError(t, err)
		return string(quoted)
	}
	created := func(number, text string) string {
		return `["create",{"owner":"o","repo":"r","issue_number":` + number + `,"body":` + body(text) + `}]`
	}
	bot := map[string]any{"login": "github-actions[bot]"}
	someone := map[string]any{"login": "someone"}
	for _, tt := range []struct {
		name                string
		text                string
		of, pulls, comments []any
		want                string
	}{
		{"of a fork", "1 fail", nil, []any{map[string]any{"number": 6, "head": head("def", 5)}, pull},
			[]any{map[string]any{"id": 1, "user": someone, "body": "<!-- memspec -->"}},
			listed + "," + comments("7") + "," + created("7", "```text\n1 fail\n```")},
		{"once more", "1 fail", nil, []any{pull},
			[]any{map[string]any{"id": 2, "user": bot, "body": "<!-- memspec -->\nbefore"}},
			listed + "," + comments("7") + `,["update",{"owner":"o","repo":"r","comment_id":2,"body":` +
				body("```text\n1 fail\n```") + `}]`},
		{"of this repository", "1 fail", []any{map[string]any{"number": 3}}, nil, []any{},
			comments("3") + "," + created("3", "```text\n1 fail\n```")},
		{"closed meanwhile", "1 fail", nil, []any{}, nil, listed + `,["info","got 0 pull requests of this run, want one"]`},
		{"another's commit of the same name", "1 fail", nil, []any{map[string]any{"number": 9, "head": head("abc", 6)}}, nil,
			listed + `,["info","got 0 pull requests of this run, want one"]`},
		{"a fence within", "a\n```\n@everyone [x](y)\u200b\u202e", nil, []any{pull}, []any{},
			listed + "," + comments("7") + "," + created("7", "````text\na\n```\n@everyone [x](y)\n````")},
		{"too long", strings.Repeat("x", 30_000), nil, []any{pull}, []any{},
			listed + "," + comments("7") + "," + created("7", "```text\n"+strings.Repeat("x", 20_000)+"\n… cut; the whole of "+
				"it is in the run's artifact\n\n```")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			given, err := json.Marshal(map[string]any{"script": script, "of": tt.of, "pulls": tt.pulls, "comments": tt.comments})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "memory.txt"), []byte(tt.text), 0o666))
			cmd := exec.Command(node, "run.js", string(given))
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			assert.JSONEq(t, "["+tt.want+"]", string(out))
		})
	}
}
