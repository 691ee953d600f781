package recording

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Depends corrects what a case depends on beyond its model's code. Patterns are of paths relative
// to the memspec.yaml's folder, with slashes: * and ? stay within a name, ** goes through folders,
// and what matches a folder matches all below it.
type Depends struct {
	Ignore []string `json:"ignore"` // files that do not count; $NAME is a variable
	Also   []string `json:"also"`   // files that count, whether the run read them or not
}

// IgnoresFile says whether a file or folder does not count. conf/** is of the folder conf too.
func (d Depends) IgnoresFile(path string) bool {
	return slices.ContainsFunc(d.Ignore, func(p string) bool {
		return !strings.HasPrefix(p, "$") && Matches(p, path+"/")
	})
}

// steps is what IgnoresFile may take of a path.
func (d Depends) steps(path string) int {
	sum := 0
	for _, p := range d.Ignore {
		sum += steps(p, path+"/")
	}
	return sum
}

// steps is what Matches may take: at each letter of a path, every wildcard of the pattern may be
// the one that it is of.
func steps(pattern, path string) int {
	return (1 + strings.Count(pattern, "*") + strings.Count(pattern, "?")) * len(path)
}

// IgnoresVariable says whether a variable does not count.
func (d Depends) IgnoresVariable(name string) bool {
	return slices.ContainsFunc(d.Ignore, func(p string) bool { return strings.HasPrefix(p, "$") && Matches(p[1:], name) })
}

var wildcards = regexp.MustCompile(`\*\*/|\*\*|\*|\?`)

// Matches says whether a pattern is of a path, or of a folder above it.
func Matches(pattern, path string) bool {
	re, known := compiled.Load(pattern)
	if !known {
		re, _ = compiled.LoadOrStore(pattern, compile(pattern))
	}
	return re.(*regexp.Regexp).MatchString(path)
}

var compiled sync.Map // *regexp.Regexp by pattern: a spec has few

func compile(pattern string) *regexp.Regexp {
	pattern = strings.TrimSuffix(pattern, "/")
	var b strings.Builder
	b.WriteString(`(?s)^`)
	for pattern != "" {
		at := wildcards.FindStringIndex(pattern)
		if at == nil {
			at = []int{len(pattern), len(pattern)}
		}
		b.WriteString(regexp.QuoteMeta(pattern[:at[0]]))
		switch pattern[at[0]:at[1]] {
		case "**/":
			b.WriteString(`(?:[^/]+/)*`)
		case "**":
			b.WriteString(`.*`)
		case "*":
			b.WriteString(`[^/]*`)
		case "?":
			b.WriteString(`[^/]`)
		}
		pattern = pattern[at[1]:]
	}
	b.WriteString(`(?:/.*)?$`)
	return regexp.MustCompile(b.String()) // every part of it is quoted or ours
}
