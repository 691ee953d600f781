package cli

import (
	"bytes"
	"io"
	"os"
)

// colours writes lines that begin with an outcome with that word in colour. It stands behind
// everything else that is done to a text, so that no name can colour anything.
type colours struct {
	w      io.Writer
	inLine bool // the last write ended within a line
}

// coloured says whether a terminal is to have colours: as NO_COLOR and TERM say.
func coloured(w io.Writer) bool {
	return Terminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

var outcomeColours = []struct{ word, code string }{
	{"PASS ", "32"}, {"WARN ", "33"}, {"FAIL ", "31"}, {"ERROR ", "31"}, {"INCONCLUSIVE ", "35"},
}

func (c *colours) Write(b []byte) (int, error) {
	var out bytes.Buffer
	for line := range bytes.Lines(b) {
		if !c.inLine {
			for _, o := range outcomeColours {
				if word := []byte(o.word); bytes.HasPrefix(line, word) {
					out.WriteString("\x1b[1;" + o.code + "m" + o.word[:len(o.word)-1] + "\x1b[0m ")
					line = line[len(word):]
					break
				}
			}
		}
		out.Write(line)
		c.inLine = !bytes.HasSuffix(line, []byte("\n"))
	}
	if _, err := c.w.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(b), nil
}
