package main

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// Mutants of functions are compiled together: each is a copy of its function with the change in it,
// and the function begins by asking whether one of its copies is on. A test binary then holds all
// mutants of a package, and one of them is tested by a run of it. What cannot be copied so is
// compiled alone: values of variables, init, functions that do not name all their parameters.

// together returns the files of a package with the mutants of its functions in them, by file, and
// says which mutants those are. They are numbered from first on.
func together(s *source, ms []*mutation, first int) (map[int][]byte, []*mutation) {
	type edit struct {
		at   int
		text string
	}
	edits, copies := map[int][]edit{}, map[int]string{}
	var in []*mutation
	for _, m := range ms {
		m.number = first + len(in)
		call, ok := m.call()
		if !ok {
			continue
		}
		in = append(in, m)
		text := s.files[m.file].text
		from, name, to := s.offset(m.decl.Pos()), s.offset(m.decl.Name.End()), s.offset(m.decl.End())
		copies[m.file] += fmt.Sprintf("\n%s%s%s%s%s\n", text[from:name], m.suffix(), text[name:m.start], m.text,
			text[m.end:to])
		edits[m.file] = append(edits[m.file],
			edit{s.offset(m.decl.Body.Lbrace) + 1, fmt.Sprintf(" if mutantIs(%d) { %s }; ", m.number, call)})
	}
	out := map[int][]byte{}
	for file, es := range edits {
		slices.SortStableFunc(es, func(a, b edit) int { return a.at - b.at })
		text, at := s.files[file].text, 0
		var b strings.Builder
		for _, e := range es {
			b.Write(text[at:e.at])
			b.WriteString(e.text)
			at = e.at
		}
		b.Write(text[at:])
		b.WriteString(copies[file])
		out[file] = []byte(b.String())
	}
	return out, in
}

// switchFile is added beside helpFile where a test binary holds many mutants.
const switchFile = "zz_mutant_switch.go"

// Environment variables of a test binary that holds many mutants: which of them is on, and the
// folder for an empty file a mutant whose function was called. Nothing is written: a test may
// forbid that.
const (
	mutantVariable = "GO_MUTANT"
	callsVariable  = "GO_MUTANT_CALLS"
)

// switchText is the file that turns mutants on, numbered from 1 to many.
func switchText(name string, many int) string {
	return fmt.Sprintf(`package %s

import (
	"os"
	"strconv"
)

var (
	mutantOn, _ = strconv.Atoi(os.Getenv(%q))
	mutantCalls = os.Getenv(%q)
	mutantSeen  [%d]bool
)

func mutantIs(n int) bool {
	if mutantCalls != "" && !mutantSeen[n] {
		mutantSeen[n] = true
		mutantCall(n)
	}
	return n == mutantOn
}

func mutantCall(n int) {
	f, err := os.Create(mutantCalls + "/" + strconv.Itoa(n))
	if err != nil {
		panic(err)
	}
	f.Close()
}
`, name, mutantVariable, callsVariable, many+1)
}

// name is the mutant's in a test binary that holds many.
func (m *mutation) name() string { return strconv.Itoa(m.number) }

// suffix is what the copy's name has behind its function's.
func (m *mutation) suffix() string { return "_mutant" + m.name() }

// call is a statement that calls a mutant's copy with what its function was given and returns;
// false where there is none.
func (m *mutation) call() (string, bool) {
	d := m.decl
	if d == nil || d.Recv == nil && (d.Name.Name == "init" || d.Name.Name == "main") {
		return "", false
	}
	call := d.Name.Name + m.suffix()
	if d.Recv != nil {
		receiver, ok := namesOf(d.Recv)
		if !ok {
			return "", false
		}
		call = receiver[0] + "." + call
	}
	if d.Type.TypeParams != nil {
		types, _ := namesOf(d.Type.TypeParams)
		call += "[" + strings.Join(types, ", ") + "]"
	}
	args, ok := namesOf(d.Type.Params)
	if !ok {
		return "", false
	}
	if n := len(args); n > 0 {
		if _, variadic := d.Type.Params.List[len(d.Type.Params.List)-1].Type.(*ast.Ellipsis); variadic {
			args[n-1] += "..."
		}
	}
	call += "(" + strings.Join(args, ", ") + ")"
	if d.Type.Results == nil {
		return call + "; return", true
	}
	return "return " + call, true
}

// namesOf are the names of a list of parameters; false where one has none.
func namesOf(list *ast.FieldList) ([]string, bool) {
	var names []string
	for _, f := range list.List {
		if len(f.Names) == 0 {
			return nil, false
		}
		for _, n := range f.Names {
			if n.Name == "_" {
				return nil, false
			}
			names = append(names, n.Name)
		}
	}
	return names, true
}
