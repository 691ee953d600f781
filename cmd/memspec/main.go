// Command memspec checks GPU memory budgets without a GPU, without PyTorch and without executing
// anything.
//
// Results go to stdout, one line an error to stderr. It ends with 0 when all pass, 1 when a budget
// is broken, 2 on wrong usage and on input that cannot be read, and 3 when it could not say.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/internal/cli"
)

func main() {
	setCollector()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// setCollector sets the garbage collector, whatever GOGC and GOMEMLIMIT say: SECURITY.md states a
// bound on memory, and a user's settings are for other programs. A prediction takes a few MiB and
// ends before a collection would pay: there is none before 64 MiB, and a long check stays below the
// limit.
func setCollector() {
	debug.SetGCPercent(1600)
	debug.SetMemoryLimit(256 << 20)
}

// run is the whole command: tests call it with their own streams.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	out := cli.NewPrintable(stdout)
	stderr = cli.NewPrintable(stderr)
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if *out.Failed != nil {
		err = *out.Failed
	}
	if err == nil {
		return cli.ExitOK
	}
	var end *cli.Exit
	if !errors.As(err, &end) {
		end = &cli.Exit{Code: cli.ExitUsage, Err: err}
		if missing := new(origin.Uncaptured); errors.As(err, &missing) {
			end.Code = cli.ExitUnsure
		}
	}
	for _, line := range cli.ErrorLines(end.Err) {
		fmt.Fprintf(stderr, "memspec: %s\n", shortened(line))
	}
	return end.Code
}

// Of a line of an error so many letters are printed, the file's path among them: names and texts in
// it may come from anybody.
const (
	longestError = 300
	errorEnd     = 80 // of which these are its last
)

// shortened is a line without the middle where it is too long.
func shortened(line string) string {
	if utf8.RuneCountInString(line) <= longestError {
		return line
	}
	letters := []rune(line)
	return string(letters[:longestError-errorEnd]) + " … " + string(letters[len(letters)-errorEnd:])
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "memspec",
		Short: "GPU memory budgets, checked without a GPU",
		Long: `memspec predicts the peak GPU memory of a model from its artifact alone (no GPU, no PyTorch, nothing executed)
and fails where a budget in memspec.yaml is broken.

Exit codes: 0 all pass; 1 a budget is broken; 2 wrong usage, unreadable spec or artifact; 3 could not say.`,
		Example: `  memspec check
  memspec estimate model.pt --input 'x=float32[B,3,224,224]' --dim B=8 --device a10g
  memspec explain --case 'resnet50[B=32]' memspec.yaml`,
		Version:       cli.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				cmd.SetOut(cmd.ErrOrStderr())
				_ = cmd.Help()
				return &cli.Exit{Code: cli.ExitUsage}
			}
			return unknownCommand(cmd, args[0])
		},
	}
	// cobra's own would take -v, which is --verbose everywhere else
	root.Flags().Bool("version", false, "print the version")
	root.SetVersionTemplate("memspec {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(help)
	root.AddCommand([]*cobra.Command{newCheck(), newEstimate(), newExplain(), newReplay(), newDiff(), newOps(), newDump(),
		newStrip(), newDevices(), newInit(), newCases(), newWorkspace(), newVerify(), newSchema(), newVersion(), newFit(),
		newSweep(), newBaseline(), newUpdate(), newPrune()}...)
	strictBuiltins(root)
	return root
}

// help is cobra's own, laid out to the width of where it goes.
func help(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	p := layout.To(out)
	for i, paragraph := range strings.Split(strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)), "\n\n") {
		if i > 0 {
			p.Line("")
		}
		p.Indented(0, 0, strings.Join(strings.Fields(paragraph), " "))
	}
	p.Line("")
	columns := layout.Columns(out)
	cmd.SetUsageTemplate(strings.ReplaceAll(cmd.UsageTemplate(), ".FlagUsages ",
		fmt.Sprintf(".FlagUsagesWrapped %d ", columns)))
	for line := range strings.Lines(cmd.UsageString()) {
		line = strings.TrimSuffix(line, "\n")
		if command := strings.TrimLeft(line, " "); strings.HasPrefix(command, "memspec ") {
			p.Shell(len(line)-len(command), command)
		} else {
			p.Line("%s", line)
		}
	}
}

// strictBuiltins makes cobra's own help and completion refuse what they do not know: they print the
// help instead and end well.
func strictBuiltins(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if at, rest, err := root.Find(args); err != nil || len(rest) > 0 && at.HasSubCommands() {
					return unknownCommand(root, args[0])
				}
				return nil
			}
		case "completion":
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(cmd *cobra.Command, args []string) error {
				var shells []string
				for _, s := range cmd.Commands() {
					shells = append(shells, s.Name())
				}
				got := "nothing"
				if len(args) > 0 {
					got = strconv.Quote(args[0])
				}
				return fmt.Errorf("completion: got %s, want one of %s", cli.Shorten(got), strings.Join(shells, ", "))
			}
		}
	}
}

// newVersion is --version as a command, as other tools have it.
func newVersion() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Hidden: true, Args: cli.WantArgs(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "memspec %s\n", cli.Version())
			return err
		}}
}

func unknownCommand(root *cobra.Command, name string) error {
	root.SuggestionsMinimumDistance = 2
	if s := root.SuggestionsFor(name); len(s) > 0 {
		return fmt.Errorf("unknown command %q, did you mean %s?", name, strings.Join(s, " or "))
	}
	return fmt.Errorf("unknown command %q, `memspec --help` lists them", name)
}

// flagError adds what to do to cobra's own text.
func flagError(cmd *cobra.Command, err error) error {
	if near := nearFlag(cmd, err.Error()); near != "" {
		return fmt.Errorf("%w, did you mean --%s?", err, near)
	}
	return fmt.Errorf("%w, see `%s --help`", err, cmd.CommandPath())
}

// nearFlag is the flag that an unknown one may have been meant for: -input, --inputs.
func nearFlag(cmd *cobra.Command, text string) string {
	word := ""
	if _, after, ok := strings.Cut(text, "unknown flag: --"); ok {
		word = after
	} else if _, after, ok := strings.Cut(text, "unknown shorthand flag: "); ok {
		_, word, _ = strings.Cut(after, " in -")
	}
	word, _, _ = strings.Cut(word, "=")
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if slices.Contains(names, word) {
		return word
	}
	return spec.Nearest(word, names)
}
