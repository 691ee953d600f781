package main

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
type choice struct {
	value   string
	allowed []string
	kind    string // what help calls a value; "" names them all
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string {
	if c.kind != "" {
		return c.kind
	}
	return strings.Join(c.allowed, "|")
}
func (c *choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("got %q, want %s", s, strings.Join(c.allowed, ", "))
	}
	c.value = s
	return nil
}

// choiceFlag adds a choice to cmd; the first value allowed is the default where byDefault is "".
func choiceFlag(cmd *cobra.Command, name, usage, byDefault string, allowed ...string) *choice {
	c := &choice{value: byDefault, allowed: allowed}
	cmd.Flags().Var(c, name, usage)
	complete(cmd, name, allowed...)
	return c
}

func formatFlag(cmd *cobra.Command) *choice {
	return choiceFlag(cmd, "format", "how results are written", "text", "text", "json")
}

func complete(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// writeLine writes one line for people, wrapped to the width of w.
func writeLine(w io.Writer, line string) error {
	p := layout.To(w)
	p.Line("%s", line)
	return p.Err
}

// A progress tells a person at a terminal how far a long command is; elsewhere it is silent.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	total int
	done  int
	shown bool
	start time.Time
}

func newProgress(w io.Writer, total int) *progress {
	p := &progress{total: total, start: time.Now()}
	if terminal(w) {
		p.w = raw(w) // it moves the cursor
	}
	return p
}

// elapsed is how long it has taken so far.
func (p *progress) elapsed() time.Duration { return time.Since(p.start) }

// step counts one more done, and shows it once the command has taken a second.
func (p *progress) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.w != nil && time.Since(p.start) > time.Second {
		fmt.Fprintf(p.w, "\r%d of %d", p.done, p.total)
		p.shown = true
	}
}

// clear removes the line before something else is printed.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\033[K")
		p.shown = false
	}
}
