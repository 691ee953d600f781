package main

import (
	"bytes"
	"io"
)

// printable writes text without control characters: names come from archives, and an escape sequence among them would reach the terminal.
type printable struct{ w io.Writer }

func (p printable) Write(b []byte) (int, error) {
	if !bytes.ContainsFunc(b, hidden) {
		return p.w.Write(b)
	}
	clean := bytes.Map(func(c rune) rune {
		if hidden(c) {
			return '\uFFFD'
		}
		return c
	}, b)
	if _, err := p.w.Write(clean); err != nil {
		return 0, err
	}
	return len(b), nil
}

// hidden says whether a letter is a control character that does no more than end lines and columns.
func hidden(c rune) bool {
	return c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c >= 0x80 && c < 0xa0
}
