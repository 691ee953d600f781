package format

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/verdict"
)

// mostNamed is how many cases of one group are named.
const mostNamed = 5

// restingCases are the cases that pass or warn and rest on something beside their figures, gathered
// by what that is: the same in many cases is written once.
type restingCases struct {
	groups []*restingGroup
}

type restingGroup struct {
	on    string
	names []string
	count int
}

func (r *restingCases) add(c *Case) {
	if !c.Judged || c.RestsOn == "" || c.Outcome != verdict.Pass && c.Outcome != verdict.Warn {
		return
	}
	i := slices.IndexFunc(r.groups, func(g *restingGroup) bool { return g.on == c.RestsOn })
	if i < 0 {
		i = len(r.groups)
		r.groups = append(r.groups, &restingGroup{on: c.RestsOn})
	}
	g := r.groups[i]
	if g.count++; g.count <= mostNamed {
		g.names = append(g.names, c.title())
	}
}

// text is "3 cases that pass rest on estimate by workspace-estimate; origin unknown: a on t4, b on
// t4, c on t4".
func (g *restingGroup) text() string {
	names := strings.Join(g.names, ", ")
	if more := g.count - len(g.names); more > 0 {
		names += fmt.Sprintf(", %d more", more)
	}
	return fmt.Sprintf("%s on %s: %s", plural(g.count, "case that passes rests", "cases that pass rest"), oneLine(g.on),
		names)
}
