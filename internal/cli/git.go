package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// neutral are the settings under which git runs no program and opens no connection, whatever the
// checkout's own configuration says. A folder of the checkout that only looks like a bare
// repository is no repository.
var neutral = []string{
	"--no-optional-locks", "-c", "safe.bareRepository=explicit", "-c", "protocol.allow=never",
	"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
}

// neutralEnvironment is the same as variables; the last two are read by git 2.45 and later.
var neutralEnvironment = []string{
	"GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ADVICE=0",
}

// runsProgram matches the keys of a configuration that name programs which a comparison of files
// starts.
var runsProgram = regexp.MustCompile(
	`^(filter\..*\.(clean|smudge|process)|diff\..*\.(command|textconv)|diff\.external|core\.(sshcommand|gitproxy|askpass))$`)

// git runs git in a folder and returns what it prints.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append(neutral[:len(neutral):len(neutral)], args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), neutralEnvironment...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, errors.New("got no git, want it on PATH")
		}
		if text := strings.TrimSpace(errs.String()); text != "" {
			return nil, errors.New(OneLine(text))
		}
		return nil, err
	}
	return out.Bytes(), nil
}

// withoutPrograms are arguments of git that take the programs out of the checkout's own
// configuration. Those that the user configured stay: Git LFS is such a filter.
func withoutPrograms(ctx context.Context, dir string) ([]string, error) {
	listed, err := git(ctx, dir, "config", "--list", "--show-scope", "--name-only", "-z")
	if err != nil {
		return nil, err
	}
	var args []string
	fields := strings.Split(string(listed), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		scope, key := fields[i], fields[i+1]
		if (scope == "local" || scope == "worktree") && runsProgram.MatchString(key) {
			args = append(args, "-c", key+"=")
			if name, ok := strings.CutPrefix(key, "filter."); ok {
				args = append(args, "-c", "filter."+name[:strings.LastIndexByte(name, '.')]+".required=false")
			}
		}
	}
	return args, nil
}
