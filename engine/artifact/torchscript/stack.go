package torchscript

import (
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/program"
)

// parseFrame reads one line of a traced operation's stack: `file(line): function`.
func parseFrame(line string) (program.Frame, bool) {
	colon := strings.LastIndex(line, "): ")
	open := strings.LastIndexByte(line[:max(colon, 0)], '(')
	if open < 0 {
		return program.Frame{}, false
	}
	n, err := strconv.Atoi(line[open+1 : colon])
	if err != nil {
		return program.Frame{}, false
	}
	return program.Frame{File: line[:open], Line: n, Function: line[colon+3:]}, true
}
