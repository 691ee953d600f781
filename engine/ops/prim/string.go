package prim

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
)

// maxString bounds what one string operator may build.
const maxString = 1 << 24

func strMap(f func(string) string) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) { return f(c.Str("self")), nil }
}

func capitalize(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + strings.ToLower(s[1:])
}

func swapcase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

func title(s string) string {
	prev := false
	return strings.Map(func(r rune) rune {
		letter := unicode.IsLetter(r)
		defer func() { prev = letter }()
		switch {
		case letter && !prev:
			return unicode.ToUpper(r)
		case letter:
			return unicode.ToLower(r)
		}
		return r
	}, s)
}

// strPad is center (side 0), ljust (-1), rjust (1).
func strPad(side int) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		s, fill, width := c.Str("self"), c.Str("fillchar"), c.Int("width")
		if len(fill) != 1 {
			return nil, c.Errorf("got fillchar %q, want one character", fill)
		}
		if width > maxString {
			return nil, c.Errorf("got width %d, want at most %d", width, maxString)
		}
		n := int(width) - len(s)
		if n <= 0 {
			return s, nil
		}
		switch side {
		case -1:
			return s + strings.Repeat(fill, n), nil
		case 1:
			return strings.Repeat(fill, n) + s, nil
		}
		left := n / 2
		if n%2 != 0 && width%2 != 0 {
			left++
		}
		return strings.Repeat(fill, left) + s + strings.Repeat(fill, n-left), nil
	}
}

func strZfill(c *ops.Call) (any, error) {
	s, width := c.Str("self"), c.Int("width")
	if width > maxString {
		return nil, c.Errorf("got width %d, want at most %d", width, maxString)
	}
	n := int(width) - len(s)
	if n <= 0 {
		return s, nil
	}
	return strings.Repeat("0", n) + s, nil
}

func strExpandtabs(c *ops.Call) (any, error) {
	var b strings.Builder
	tab, col := int(min(max(c.Int("tabsize"), 0), 1024)), 0
	for _, r := range c.Str("self") {
		switch {
		case r == '\t' && tab > 0:
			n := tab - col%tab
			b.WriteString(strings.Repeat(" ", n))
			col += n
		case r == '\t':
		default:
			b.WriteRune(r)
			if col++; r == '\n' || r == '\r' {
				col = 0
			}
		}
	}
	return b.String(), nil
}

func strStrip(left, right bool) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		s, cut := c.Str("self"), c.Str("chars")
		if left {
			s = strings.TrimLeft(s, cut)
		}
		if right {
			s = strings.TrimRight(s, cut)
		}
		return s, nil
	}
}

func strReplace(c *ops.Call) (any, error) {
	s, old, by := c.Str("self"), c.Str("old"), c.Str("new")
	if len(by) > 0 && (strings.Count(s, old)+1) > maxString/len(by) {
		return nil, c.Errorf("got a string of more than %d bytes", maxString)
	}
	return strings.Replace(s, old, by, int(c.Int("max"))), nil
}

// strRange cuts a string as find, startswith and the like see it: end -1 is the end.
func strRange(c *ops.Call) (s string, from int, ok bool) {
	s = c.Str("self")
	n := int64(len(s))
	start, end := c.Int("start"), c.Int("end")
	if start < 0 {
		start = max(start+n, 0)
	}
	if end < 0 {
		end = max(end+n+1, 0)
	}
	end = min(end, n)
	if start > end {
		return "", 0, false
	}
	return s[start:end], int(start), true
}

func strStartswith(c *ops.Call) (any, error) {
	s, _, ok := strRange(c)
	return ok && strings.HasPrefix(s, c.Str("substr")), nil
}

func strEndswith(c *ops.Call) (any, error) {
	s, _, ok := strRange(c)
	return ok && strings.HasSuffix(s, c.Str("substr")), nil
}

// strFind is find and rfind, or index and rindex, which refuse what they do not find.
func strFind(fromEnd, must bool) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		s, from, ok := strRange(c)
		i := -1
		if ok {
			if i = strings.Index(s, c.Str("substr")); fromEnd {
				i = strings.LastIndex(s, c.Str("substr"))
			}
		}
		if i < 0 {
			if must {
				return nil, c.Errorf("got %q, want a part of the string", c.Str("substr"))
			}
			return int64(-1), nil
		}
		return int64(i + from), nil
	}
}

func strCount(c *ops.Call) (any, error) {
	s, _, ok := strRange(c)
	if !ok {
		return int64(0), nil
	}
	if c.Str("substr") == "" {
		return int64(len(s) + 1), nil
	}
	return int64(strings.Count(s, c.Str("substr"))), nil
}

func strList(c *ops.Call, parts []string) *ops.List {
	items := make([]any, len(parts))
	for i, p := range parts {
		items[i] = p
	}
	return c.List(schema.Str, items...)
}

func strSplit(c *ops.Call) (any, error) {
	s := c.Str("self")
	if !c.Has("separator") {
		return strList(c, strings.Fields(s)), nil
	}
	sep := c.Str("separator")
	if sep == "" {
		return nil, c.Errorf("got an empty separator, want another")
	}
	n := -1
	if limit := c.Int("max"); limit >= 0 {
		n = int(limit) + 1
	}
	return strList(c, strings.SplitN(s, sep, n)), nil
}

func strRsplit(c *ops.Call) (any, error) {
	s, sep, limit := c.Str("self"), c.Str("separator"), c.Int("max")
	if sep == "" {
		return nil, c.Errorf("got an empty separator, want another")
	}
	var parts []string
	for limit != 0 {
		i := strings.LastIndex(s, sep)
		if i < 0 {
			break
		}
		parts = append([]string{s[i+len(sep):]}, parts...)
		s = s[:i]
		limit--
	}
	return strList(c, append([]string{s}, parts...)), nil
}

func strSplitlines(c *ops.Call) (any, error) {
	var parts []string
	for line := range strings.Lines(c.Str("self")) {
		if !c.Bool("keepends") {
			line = strings.TrimRight(line, "\r\n")
		}
		parts = append(parts, line)
	}
	return strList(c, parts), nil
}

func strPartition(fromEnd bool) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		s, sep := c.Str("self"), c.Str("separator")
		i := strings.Index(s, sep)
		if fromEnd {
			i = strings.LastIndex(s, sep)
		}
		switch {
		case i >= 0:
			return c.Tuple(s[:i], sep, s[i+len(sep):]), nil
		case fromEnd:
			return c.Tuple("", "", s), nil
		}
		return c.Tuple(s, "", ""), nil
	}
}

func strJoin(c *ops.Call) (any, error) {
	var parts []string
	size := 0
	for _, v := range list(c, 1).Items {
		s, _ := v.(string)
		if size += len(s) + len(c.Str("self")); size > maxString {
			return nil, c.Errorf("got a string of more than %d bytes", maxString)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, c.Str("self")), nil
}

func strOf(c *ops.Call) (any, error) { return pyString(c.Args[0]), nil }

func strFormat(c *ops.Call) (any, error) {
	s, _ := first(c.Args).(string)
	var b strings.Builder
	next, arg := 0, 1
	for next < len(s) {
		i := strings.Index(s[next:], "{")
		if i < 0 {
			break
		}
		end := strings.Index(s[next+i:], "}")
		if end < 0 {
			break
		}
		b.WriteString(s[next : next+i])
		if arg >= len(c.Args) {
			return nil, c.Errorf("got %d arguments, want one a placeholder", len(c.Args)-1)
		}
		b.WriteString(pyString(c.Args[arg]))
		arg++
		next += i + end + 1
		if b.Len() > maxString {
			return nil, c.Errorf("got a string of more than %d bytes", maxString)
		}
	}
	b.WriteString(s[next:])
	return b.String(), nil
}

func first(args []any) any {
	if len(args) == 0 {
		return nil
	}
	return args[0]
}

func strPercent(c *ops.Call) (any, error) {
	s, _ := first(c.Args).(string)
	args := c.Args[1:]
	if len(args) == 1 {
		if t, ok := args[0].(*ops.Tuple); ok {
			args = t.Items
		}
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if s[i] == '%' {
			b.WriteByte('%')
			continue
		}
		if len(args) == 0 {
			return nil, c.Errorf("got too few arguments for %q", s)
		}
		v := args[0]
		args = args[1:]
		switch s[i] {
		case 'd', 'i':
			n, _ := ops.AsInt(v)
			b.WriteString(strconv.FormatInt(n, 10))
		case 'f', 'F', 'e', 'E', 'g':
			b.WriteString(strconv.FormatFloat(ops.AsFloat(v), 'f', 6, 64))
		default:
			b.WriteString(pyString(v))
		}
	}
	return b.String(), nil
}

func strOrd(c *ops.Call) (any, error) {
	s := c.Str("string")
	if len(s) != 1 {
		return nil, c.Errorf("got %q, want one character", s)
	}
	return int64(s[0]), nil
}

func strChr(c *ops.Call) (any, error) {
	n := c.Int("i")
	if n < 0 || n > 255 {
		return nil, c.Errorf("got %d, want 0 to 255", n)
	}
	return string([]byte{byte(n)}), nil
}

func strBase(base int, prefix string) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		n := c.Int("i")
		if n < 0 {
			return "-" + prefix + strconv.FormatUint(absU(n), base), nil
		}
		return prefix + strconv.FormatInt(n, base), nil
	}
}

func isAlnum(b byte) bool { return isAlpha(b) || isDigit(b) }

func isAlpha(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func isSpace(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }

// strIs says whether a string is not empty and all its bytes are of a kind.
func strIs(f func(byte) bool) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		s := c.Str("self")
		for i := range len(s) {
			if !f(s[i]) {
				return false, nil
			}
		}
		return s != "", nil
	}
}

func strCase(upper bool) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		s := c.Str("self")
		if upper {
			return s == strings.ToUpper(s) && s != strings.ToLower(s), nil
		}
		return s == strings.ToLower(s) && s != strings.ToUpper(s), nil
	}
}

func strPrintable(c *ops.Call) (any, error) {
	s := c.Str("self")
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false, nil
		}
	}
	return true, nil
}

func strIdentifier(c *ops.Call) (any, error) {
	s := c.Str("self")
	for i := range len(s) {
		if s[i] != '_' && !isAlnum(s[i]) || i == 0 && isDigit(s[i]) {
			return false, nil
		}
	}
	return s != "", nil
}

func strIstitle(c *ops.Call) (any, error) {
	s := c.Str("self")
	return s == title(s) && s != strings.ToLower(s), nil
}
