package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/memspec/memspec/engine/report"
)

// commands are what this test's own binary does under another name.
var commands = map[string]func(){"memspec": main}

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "memspec" {
		// the tests, not the command as scripts run it: the same on a CI's machine as on anybody's
		for _, name := range []string{"CI", "GITHUB_STEP_SUMMARY", "NO_COLOR", "COLUMNS", "TERM"} {
			os.Unsetenv(name)
		}
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(400) // as golden does for tests of other packages
		}
	}
	testscript.Main(m, commands)
}

// The scripts are the specification of the command: flags, output, exit codes. $ARTIFACTS is
// testdata/artifacts of the repository.
func TestScript(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	testscript.Run(t, testscript.Params{
		// commands change this process's folder,
		Dir:                 filepath.Join(root, "cmd", "memspec", "testdata", "script"),
		UpdateScripts:       os.Getenv("MEMSPEC_UPDATE") == "1",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", path) // not that of a script whose command runs now
			e.Setenv("ARTIFACTS", filepath.Join(root, "testdata", "artifacts"))
			e.Setenv("SERVING", filepath.Join(root, "testdata", "serving"))
			e.Setenv("SNAPSHOTS", filepath.Join(root, "testdata", "snapshots"))
			e.Setenv("COLUMNS", "400") // what scripts look for is not broken; columns.txtar looks at the lines
			e.Setenv("RECORDS", filepath.Join(root, "engine", "recording", "testdata", "records"))
			e.Setenv("CORPUS", filepath.Join(root, "..", "shared", "corpus"))
			for _, name := range []string{"GO_MUTANT", "GO_MUTANT_CALLS"} {
				// tools/mutants: the bug that is on, in the processes too
				e.Setenv(name, os.Getenv(name))
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "corpus":
				_, err := os.Stat(filepath.Join(root, "..", "shared", "corpus"))
				return err == nil, nil
			case "whole":
				return os.Getenv("MEMSPEC_WHOLE") != "", nil
			}
			return false, fmt.Errorf("got condition %q, want corpus or whole", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"columns":  cmdColumns,
			"exits":    cmdExits,
			"schema":   cmdSchema,
			"truncate": cmdTruncate,
		},
	})
}

// cmdExits runs a command and wants an exact exit code: exits 3 memspec estimate … It runs memspec
// in this process, without the script's standard input; exits -process 3 memspec … and
// exec memspec … start one.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	started := len(args) > 0 && args[0] == "-process"
	if started {
		args = args[1:]
	}
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits [-process] CODE COMMAND ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if args[1] == "memspec" && !started {
		got, err = runInside(ts, args[2:]), nil
	} else {
		err = ts.Exec(args[1], args[2:]...)
	}
	if coded, ok := err.(interface{ ExitCode() int }); ok {
		got = coded.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("got exit code %d, want %d", got, want)
	}
}

// cmdColumns wants no line of a file to be wider: columns 80 stdout
func cmdColumns(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: columns WIDTH FILE")
	}
	most, err := strconv.Atoi(args[0])
	ts.Check(err)
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > most {
			ts.Fatalf("got a line of %d columns, want at most %d: %s", n, most, line)
		}
	}
}

// cmdSchema checks a JSON file (or stdout) against one of the schemas: schema estimate stdout
func cmdSchema(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: schema NAME FILE")
	}
	text, ok := report.JSONSchema(args[0])
	if !ok {
		ts.Fatalf("got schema %q, want one of %v", args[0], report.SchemaNames())
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	ts.Check(err)
	c := jsonschema.NewCompiler()
	const name = "urn:memspec:schema" // no path: other scripts change the process's folder
	ts.Check(c.AddResource(name, doc))
	s, err := c.Compile(name)
	ts.Check(err)
	var value any
	d := json.NewDecoder(bytes.NewReader([]byte(ts.ReadFile(args[1]))))
	d.UseNumber()
	ts.Check(d.Decode(&value))
	err = s.Validate(value)
	if neg && err == nil {
		ts.Fatalf("got a value that fits schema %s, want one that does not", args[0])
	}
	if !neg && err != nil {
		ts.Fatalf("%v", err)
	}
}

// cmdTruncate keeps the first bytes of a file: truncate FILE BYTES
func cmdTruncate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: truncate FILE BYTES")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}
