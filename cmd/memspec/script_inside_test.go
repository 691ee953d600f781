package main

import (
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// inside is for one command at a time: the environment and the working folder are the process's.
var inside sync.Mutex

// readFromScripts are the variables that scripts set and memspec reads, or what it starts.
var readFromScripts = []string{
	"CI", "COLUMNS", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GIT_CEILING_DIRECTORIES", "GIT_CONFIG_GLOBAL",
	"GIT_CONFIG_NOSYSTEM", "HOME", "MEMSPEC_CUDAPROBE", "MEMSPEC_PYTHON", "NO_COLOR", "PATH", "RECORD", "ROW", "TERM",
	"TMPDIR", "WIDTH",
}

// runInside runs memspec in this process as a script stands, and returns its exit code: a process
// of this test's own binary takes ten times as long to start as most commands take.
func runInside(ts *testscript.TestScript, args []string) int {
	inside.Lock()
	defer inside.Unlock()
	for _, name := range readFromScripts {
		defer set(ts, name, ts.Getenv(name))()
	}
	before, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	defer func() { ts.Check(os.Chdir(before)) }()
	return run(args, strings.NewReader(""), ts.Stdout(), ts.Stderr())
}

// set sets a variable, or takes it away for "", and returns what undoes that.
func set(ts *testscript.TestScript, name, value string) func() {
	before, was := os.LookupEnv(name)
	if value == "" {
		ts.Check(os.Unsetenv(name))
	} else {
		ts.Check(os.Setenv(name, value))
	}
	return func() {
		if was {
			_ = os.Setenv(name, before)
		} else {
			_ = os.Unsetenv(name)
		}
	}
}
