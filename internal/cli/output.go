package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/layout"
)

// A choice is a flag with a few allowed values; shells complete them.
type Choice struct {
	Value   string
	allowed []string
	kind    string // what help calls a value; "" names them all
}

func (c *Choice) String() string { return c.Value }
func (c *Choice) Type() string {
	if c.kind != "" {
		return c.kind
	}
	return strings.Join(c.allowed, "|")
}
func (c *Choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("got %q, want %s", s, strings.Join(c.allowed, ", "))
	}
	c.Value = s
	return nil
}

// ChoiceFlag adds a choice to cmd; the first value allowed is the default where byDefault is "".
func ChoiceFlag(cmd *cobra.Command, name, usage, byDefault string, allowed ...string) *Choice {
	c := &Choice{Value: byDefault, allowed: allowed}
	cmd.Flags().Var(c, name, usage)
	Complete(cmd, name, allowed...)
	return c
}

func FormatFlag(cmd *cobra.Command) *Choice {
	return ChoiceFlag(cmd, "format", "how results are written", "text", "text", "json")
}

func Complete(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// WriteLine writes one line for people, wrapped to the width of w.
func WriteLine(w io.Writer, line string) error {
	p := layout.To(w)
	p.Line("%s", line)
	return p.Err
}

// A progress shows a person at a terminal how far a long command is; elsewhere it is silent.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer
	total int
	done  int
	shown bool
	start time.Time
}

func NewProgress(w io.Writer, total int) *Progress {
	p := &Progress{total: total, start: time.Now()}
	if Terminal(w) {
		p.w = Raw(w) // it moves the cursor
	}
	return p
}

// Elapsed is how long it has taken so far.
func (p *Progress) Elapsed() time.Duration { return time.Since(p.start) }

// Step counts one more done, and shows it once the command has taken a second.
func (p *Progress) Step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.w != nil && time.Since(p.start) > time.Second {
		fmt.Fprintf(p.w, "\r%d of %d", p.done, p.total)
		p.shown = true
	}
}

// Clear removes the line before something else is printed.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\033[K")
		p.shown = false
	}
}
