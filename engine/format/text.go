package format

import (
	"io"

	"github.com/memspec/memspec/engine/report"
)

// text is what a command says to people: each case as it comes, then the last lines.
type text struct{ w io.Writer }

func newText(w io.Writer, _ Options) Writer { return text{w} }

func (t text) Case(c *Case) error {
	if c.Text == nil {
		_, err := io.WriteString(t.w, c.Line+"\n")
		return err
	}
	return c.Text(t.w)
}

func (t text) End(s *Summary) error {
	if s.Text == nil {
		return nil
	}
	return s.Text(t.w)
}

// jsonText is the command's own JSON, written when the last case is in.
type jsonText struct{ w io.Writer }

func newJSON(w io.Writer, _ Options) Writer { return jsonText{w} }

func (jsonText) Case(*Case) error { return nil }

func (j jsonText) End(s *Summary) error { return report.EncodeJSON(j.w, s.JSON) }
