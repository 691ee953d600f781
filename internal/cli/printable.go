package cli

import (
	"bytes"
	"io"
	"os"
	"strconv"

	"github.com/memspec/memspec/engine/layout"
)

// Printable is one of the command's own streams. It writes text without control characters (names
// come from archives, and an escape sequence among them would reach the terminal) and knows how
// wide the text should be: as COLUMNS says, else as the terminal is, else 80.
type Printable struct {
	w       io.Writer
	raw     io.Writer // without colours
	columns int
	Failed  *error // the first error of a write: a command that looked away still ends with it
	actions bool   // a runner of GitHub Actions reads it, which takes commands of the form ##[name] anywhere in a line
}

func NewPrintable(w io.Writer) Printable {
	p := Printable{w: w, raw: w, columns: layout.DefaultColumns, Failed: new(error),
		actions: os.Getenv("GITHUB_ACTIONS") != ""}
	if coloured(w) {
		p.w = &colours{w: w}
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		p.columns = n
	} else if f, ok := w.(*os.File); ok {
		if n, _ := terminalColumns(f); n > 0 {
			p.columns = n
		}
	}
	return p
}

// Columns is the width that text is laid out to.
func (p Printable) Columns() int { return p.columns }

func (p Printable) Write(b []byte) (int, error) {
	n, err := p.write(b)
	if err != nil && *p.Failed == nil {
		*p.Failed = err
	}
	return n, err
}

func (p Printable) write(b []byte) (int, error) {
	command := p.actions && bytes.Contains(b, []byte(actionsCommand))
	if !command && !bytes.ContainsFunc(b, hidden) {
		return p.w.Write(b)
	}
	clean := bytes.Map(func(c rune) rune {
		if hidden(c) {
			return '\uFFFD'
		}
		return c
	}, b)
	if command {
		clean = bytes.ReplaceAll(clean, []byte(actionsCommand), []byte("##\u200b["))
	}
	if _, err := p.w.Write(clean); err != nil {
		return 0, err
	}
	return len(b), nil
}

// actionsCommand begins a command of the runner of GitHub Actions (ActionCommand.TryParse).
const actionsCommand = "##["

// withoutCommands is what is read by a runner of GitHub Actions and is no text: a format that
// escapes what it has to.
type withoutCommands struct{ w io.Writer }

func (c withoutCommands) Write(b []byte) (int, error) {
	if _, err := c.w.Write(bytes.ReplaceAll(b, []byte(actionsCommand), []byte("##\u200b["))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// hidden says whether a letter is not seen: a control character other than those that end lines and
// columns, a blank of no width, or a mark that ends a line or turns the direction of what follows.
func hidden(c rune) bool {
	switch {
	case c < ' ':
		return c != '\n' && c != '\t'
	case c < 0xa0:
		return c >= 0x7f
	}
	return c == '\u061c' || c == '\u200b' || c == '\u200e' || c == '\u200f' || c >= '\u2028' && c <= '\u202e' ||
		c >= '\u2066' && c <= '\u2069'
}

// Raw is what a Printable writes to.
func Raw(w io.Writer) io.Writer {
	if p, ok := w.(Printable); ok {
		return p.raw
	}
	return w
}

// Terminal says whether w is a terminal.
func Terminal(w io.Writer) bool {
	f, ok := Raw(w).(*os.File)
	if !ok {
		return false
	}
	_, is := terminalColumns(f)
	return is
}
