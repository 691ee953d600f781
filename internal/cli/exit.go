package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/spec"
)

// The exit codes.
const (
	ExitOK     = 0 // all pass
	ExitBroken = 1 // a budget is broken
	ExitUsage  = 2 // wrong usage, unreadable spec or artifact
	ExitUnsure = 3 // could not say

	exitInterrupted = 130 // by Ctrl-C, as shells have it
)

// An exit ends the command with a code; err is printed on stderr, nil where stdout has said it all.
type Exit struct {
	Code int
	Err  error
}

func (e *Exit) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Exit) Unwrap() error { return e.Err }

// ExitWith is nil for exitOK, so that a command can return it whatever the code.
func ExitWith(code int) error {
	if code == ExitOK {
		return nil
	}
	return &Exit{Code: code}
}

// ExitCodeOf is the code that an error ends the command with, where it has one of its own.
func ExitCodeOf(err error) int {
	var end *Exit
	if errors.As(err, &end) {
		return end.Code
	}
	return ExitUsage
}

// ErrorLines is one line an error; a memspec.yaml has all that is wrong with it.
func ErrorLines(err error) []string {
	if err == nil {
		return nil
	}
	var many spec.Errors
	if errors.As(err, &many) {
		return strings.Split(many.Error(), "\n")
	}
	line := OneLine(regular.Plain(err).Error())
	var input *exec.InputError
	if errors.As(err, &input) && len(input.Missing) > 0 {
		line += fmt.Sprintf("; give each, as in --input '%s=float32[1,3,224,224]', or let memspec init guess",
			input.Missing[0])
	}
	return []string{line}
}

// WantArgs is cobra's argument check with a text that says what is wanted.
func WantArgs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return fmt.Errorf("%s: got %d arguments, want %s, see `%s --help`", cmd.Name(), len(args), what,
				cmd.CommandPath())
		}
		return nil
	}
}
