package exec

import "github.com/memspec/memspec/engine/workspace"

// libraryCalls are what a run asked of libraries, each call once.
type libraryCalls struct {
	list []*workspace.Asked // in the order they are first made
	seen map[string]bool
}

// add takes over the calls behind an operator's requests.
func (l *libraryCalls) add(requests []workspace.Request) {
	for i := range requests {
		if a := requests[i].Asked; a != nil {
			l.one(a)
		}
	}
}

func (l *libraryCalls) one(a *workspace.Asked) {
	key := a.Call.Key()
	if l.seen[key] {
		return
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[key] = true
	l.list = append(l.list, a)
}

// merge takes over the calls of another way through the program.
func (l *libraryCalls) merge(of *libraryCalls) {
	for _, a := range of.list {
		l.one(a)
	}
}
