package assert

import (
	"regexp"
	"strings"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/report"
)

// message is the failure text: the account, then the commands that give it again.
func message(t TB, r *engine.Result) string {
	var commands []string
	if c := testCommandOf(t); c != "" {
		commands = append(commands, c)
	}
	if r.Case.Artifact != "" {
		commands = append(commands, engine.ExplainCommand(r.Case))
	}
	return strings.TrimRight(r.Message(engine.MessageOptions{Rows: report.ShortRows, Reproduce: commands}), "\n")
}

// testCommandOf is the command that runs this test again; empty for a t without a name.
func testCommandOf(t TB) string {
	if n, ok := t.(interface{ Name() string }); ok {
		return testCommand(n.Name())
	}
	return ""
}

// testCommand runs one test alone. go test -run takes a regular expression for each part of a name, and names of cases hold brackets.
func testCommand(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return "go test -run " + engine.ShellQuote(strings.Join(parts, "/"))
}
