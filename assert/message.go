package assert

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/suite"
)

// message is the failure text: the account, then the commands that give it again.
func message(t TB, r *suite.Result) string {
	var commands []string
	if c := testCommandOf(t); c != "" {
		commands = append(commands, c)
	}
	if r.Case.Artifact != "" {
		commands = append(commands, suite.ExplainCommand(r.Case))
	}
	return strings.TrimRight(r.Message(suite.MessageOptions{Rows: report.ShortRows, Reproduce: commands}), "\n")
}

// testCommandOf is the command that runs this test again; empty for a t without a name.
func testCommandOf(t TB) string {
	if n, ok := t.(interface{ Name() string }); ok {
		return testCommand(n.Name())
	}
	return ""
}

// testCommand runs one test alone. go test -run takes a regular expression for each part of a name,
// and names of cases hold brackets.
func testCommand(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return "go test " + packageHere() + "-run " + layout.ShellQuote(strings.Join(parts, "/"))
}

// packageHere is the import path of the package whose tests run, with a space: go test runs them in
// its folder, and the path is understood anywhere in the module.
func packageHere() string {
	here, err := os.Getwd()
	if err != nil {
		return ""
	}
	for root := here; ; root = filepath.Dir(root) {
		if data, err := os.ReadFile(filepath.Join(root, "go.mod")); err == nil {
			m := modulePath.FindSubmatch(data)
			rel, err := filepath.Rel(root, here)
			if m == nil || err != nil {
				return ""
			}
			return layout.ShellQuote(path.Join(string(m[1]), filepath.ToSlash(rel))) + " "
		}
		if root == filepath.Dir(root) {
			return ""
		}
	}
}

var modulePath = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`)
