package spec

import (
	"path"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/memspec/memspec/engine/recording"
)

var dependsKeys = []string{"ignore", "also"}

// maxPattern is the longest pattern of depends:, in bytes, and maxPatterns the most of them.
const maxPattern, maxPatterns = 1000, 1000

// depends reads the patterns of files that do not count, and of files that count as well.
func (r *reader) depends(e entry) *recording.Depends {
	const want = "a mapping with ignore: and also:, lists of paths such as [data/**]"
	d := &recording.Depends{}
	for _, k := range r.mapping(e.val, want) {
		switch k.name {
		case "ignore":
			d.Ignore = r.patterns(k.val, true)
		case "also":
			d.Also = r.patterns(k.val, false)
		default:
			r.errorf(k.key, "got the key %q, want one of ignore, also%s", shorten(k.name), didYouMean(k.name, dependsKeys))
		}
	}
	return d
}

// patterns reads paths relative to memspec.yaml's folder, with * and **; variables are $NAME.
func (r *reader) patterns(n *yaml.Node, variables bool) []string {
	want := "a path relative to this file, such as data/**"
	if variables {
		want += ", or a variable, such as $WIDTH"
	}
	var out []string
	for _, item := range r.list(n, "a list of paths such as [data/**]") {
		s, ok := r.text(item, want)
		switch {
		case !ok:
		case !isPattern(s, variables):
			r.errorf(item, "got %q, want %s", shorten(s), want)
		case len(out) == maxPatterns:
			r.errorf(item, "got more than %d paths, want fewer", maxPatterns)
			return nil
		default:
			out = append(out, s)
		}
	}
	return out
}

func isPattern(s string, variables bool) bool {
	if name, ok := strings.CutPrefix(s, "$"); ok {
		return variables && name != "" && !strings.ContainsAny(name, `/\`) && !strings.ContainsFunc(s, unprintable)
	}
	return s != "" && len(s) <= maxPattern && !path.IsAbs(s) && !strings.Contains(s, `\`) &&
		!strings.ContainsFunc(s, unprintable)
}
