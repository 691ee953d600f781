package prim

import (
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
)

// maxString bounds what one string operator may build.
const maxString = 1 << 24

func strMap(f func(string) string) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) { return f(c.Str("self")), nil }
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
	for {
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
