package spec

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// ByProgram is the mode of a case whose model is a program: the run decides what it does.
const ByProgram Mode = "program"

// Program is a program that a case runs as a whole, as python -m memshim run does.
type Program struct {
	File   string     // as written, relative to Dir of the case; "" where it is a Module
	Module string     // as python -m has it: torchtitan.train
	Args   []string   // the model's, then the case's
	Env    []Variable // sorted by name
	Cwd    string     // as written, relative to Dir of the case; "" for Dir itself
	Steps  int        // of an optimizer, after which the run ends; 0: it runs to its end
	Ranks  *Ranks     // nil where it is one process
	// Serve says that it is the command of an engine that serves a model, as python -m memshim serve
	// takes it: File is its first word.
	Serve bool
}

// Variable is a variable of the environment that a case sets, or removes.
type Variable struct {
	Name, Value string
	Unset       bool
}

// programWant is what program: in memspec.yaml takes.
const programWant = "a script such as train.py"

// argsWant is what args: takes.
const argsWant = `a list of words such as [--batch, "2"]`

// maxWords bounds the arguments of a layer, and its variables.
const maxWords = 1000

// programRules are the keys of a program, in the order the errors list them.
func programRules() []keyRule {
	return []keyRule{
		{"program", inModel, func(r *reader, s *settings, e entry, _ string) { s.program = r.words(e, programWant) }},
		{"module", inModel, func(r *reader, s *settings, e entry, _ string) { s.module = r.module(e) }},
		{"serve", inModel, func(r *reader, s *settings, e entry, _ string) { s.serve = r.command(e) }},
		{"args", inModel | inCase, func(r *reader, s *settings, e entry, _ string) { s.args = r.args(e, argsWant) }},
		{"env", inModel | inCase, func(r *reader, s *settings, e entry, _ string) { r.env(s, e) }},
		{"cwd", inModel | inCase, field(func(r *reader, e entry) *string { return r.words(e, "a folder") },
			ofProgram(func(p *Program) *string { return &p.Cwd }))},
		{"steps", inModel | inCase, field(count(1, 1<<20), ofProgram(func(p *Program) *int { return &p.Steps }))},
		{"ranks", inModel | inCase, func(r *reader, s *settings, e entry, _ string) { r.ranks(s, e) }},
	}
}

// ofProgram is a field of the case's program; of a case without one it is none.
func ofProgram[T any](of func(*Program) *T) func(*Case) *T {
	return func(c *Case) *T {
		if c.Program == nil {
			return new(T)
		}
		return of(c.Program)
	}
}

// besideProgram are the keys that a model or a case with a program may have: those of the program
// itself, where it runs, what a replay of its recording can choose, and what judges it.
var besideProgram = []string{"program", "module", "args", "env", "cwd", "steps", "ranks", "name", "cases", "dims",
	"device", "torch", "alloc_conf", "cublas_workspace",
	"memory_fraction", "nccl", "assume", "depends", "budget", "regression", "level", "judge", "allow"}

// besideServe are the keys that a model or a case with serve: may have.
var besideServe = []string{
	"serve", "args", "env", "cwd", "name", "cases", "dims", "device", "depends", "budget", "at_least", "regression",
	"level", "judge", "allow",
}

// modelKeys are the keys that say what a model is: it has one of them.
var modelKeys = []string{"artifact", "source", "program", "module", "serve"}

// besideKey are the keys that may stand beside the one that names a program.
func besideKey(key string) []string {
	if key == "serve" {
		return besideServe
	}
	return besideProgram
}

// programKeys are the keys that only a program has.
var programKeys = []string{"args", "env", "cwd", "steps", "ranks"}

// isProgram says whether the settings name a program, and by which key.
func (s *settings) isProgram() (key string, ok bool) {
	switch {
	case s.program != nil:
		return "program", true
	case s.module != nil:
		return "module", true
	case s.serve != nil:
		return "serve", true
	}
	return "", false
}

// checkProgram refuses keys that have no meaning beside a program, and keys of a program without
// one. model has the program.
func (d *document) checkProgram(model, s *settings) {
	key, ok := model.isProgram()
	for _, e := range s.written {
		switch {
		case !ok && slices.Contains(programKeys, e.name):
			d.errorf(e.key, "got %s: without a program, want program:, module: or serve: in the model", e.name)
		case ok && e.name != key && slices.Contains(modelKeys, e.name):
			d.errorf(e.key, "got %s: beside %s:, want one of them", e.name, key)
		case !ok && e.name == "at_least":
			d.errorf(e.key, "got at_least: without serve:, want budget:")
		case ok && !slices.Contains(besideKey(key), e.name):
			d.errorf(e.key, "got %s: beside %s:, want none: the program itself decides that", e.name, key)
		}
	}
}

// forProgram drops what defaults: say of other models. key names the program.
func (s settings) forProgram(key string) settings {
	s.sets, s.fits, s.inputs = maps.Clone(s.sets), nil, nil // refused above
	maps.DeleteFunc(s.sets, func(set string, _ func(*Case)) bool {
		name, _, _ := strings.Cut(set, " ")
		return !slices.Contains(besideKey(key), name)
	})
	return s
}

// newProgram is the program that a model names, nil where it names none.
func newProgram(model, s *settings) *Program {
	if _, ok := model.isProgram(); !ok {
		return nil
	}
	p := &Program{Args: s.args}
	assign(&p.File, model.program)
	assign(&p.Module, model.module)
	if model.serve != nil {
		p.File, p.Serve = model.serve[0], true
	}
	return p
}

// command reads the command of an engine: its words.
func (r *reader) command(e entry) []string {
	const want = "an engine's command such as [vllm, serve, models/qwen3-8b]"
	words := r.args(e, want)
	switch {
	case e.val.Kind == yaml.SequenceNode && len(e.val.Content) == 0:
		r.errorf(e.val, "got an empty list, want %s", want)
	case len(words) > 0 && words[0] == "":
		r.errorf(e.val.Content[0], "got an empty word, want %s", want)
	}
	if len(words) == 0 {
		return []string{""} // it is an engine's: what is wrong with it was said
	}
	return words
}

// Serves says whether the program is an engine that serves a model.
func (p *Program) Serves() bool { return p != nil && p.Serve }

func (r *reader) module(e entry) *string {
	const want = "a module such as torchtitan.train"
	s, ok := r.text(e.val, want)
	if ok && !isDotted(s) {
		r.errorf(e.val, "got %q, want %s", shorten(s), want)
		ok = false
	}
	if !ok {
		return nil
	}
	return &s
}

// args reads the words after the program. A number is its text.
func (r *reader) args(e entry, want string) []string {
	var out []string
	nodes := r.list(e.val, want)
	if len(nodes) > maxWords {
		r.errorf(e.val, "got %d words, want at most %d", len(nodes), maxWords)
		return nil
	}
	for _, n := range nodes {
		if s, ok := r.text(n, want); ok {
			r.wantWord(n, s)
			out = append(out, s)
		}
	}
	return out
}

// env reads variables of the environment; null removes one.
func (r *reader) env(s *settings, e entry) {
	variables := r.mapping(e.val, "a mapping of variables to texts")
	if len(variables) > maxWords {
		r.errorf(e.val, "got %d variables, want at most %d", len(variables), maxWords)
		return
	}
	for _, v := range variables {
		out := Variable{Name: v.name, Unset: isNull(v.val)}
		switch text, ok := "", false; {
		case strings.ContainsAny(v.name, "=\x00") || strings.ContainsFunc(v.name, unprintable) || v.name == "":
			r.errorf(v.key, "got %q, want the name of a variable", shorten(v.name))
			continue
		case strings.HasPrefix(v.name, "MEMSPEC_") || v.name == "LD_PRELOAD":
			r.errorf(v.key, "got the variable %s, want another: the pretend GPU is made by it", v.name)
			continue
		case !out.Unset:
			if text, ok = r.text(v.val, "a text, or null to remove the variable"); !ok {
				continue
			}
			r.wantWord(v.val, text)
			out.Value = text
		}
		s.set(e.name+" "+v.name, func(c *Case) {
			if c.Program != nil {
				c.Program.Env = append(c.Program.Env, out)
			}
		})
	}
}

// wantWord reports a text that cannot be a word of a command.
func (r *reader) wantWord(n *yaml.Node, s string) {
	if strings.Contains(s, "\x00") {
		r.errorf(n, "got %q, want a text without a zero byte", shorten(s))
	}
}

// settle puts what layers added in an order.
func (p *Program) settle() {
	slices.SortFunc(p.Env, func(a, b Variable) int { return cmp.Compare(a.Name, b.Name) })
}

// bind puts the values of dims in the place of {NAME} in the arguments and the variables. Other
// braces stay as they are.
func (p *Program) bind(dims []Dim) {
	var pairs []string
	for _, d := range dims {
		pairs = append(pairs, "{"+d.Name+"}", strconv.FormatInt(d.Value, 10))
	}
	values := strings.NewReplacer(pairs...)
	p.Args = slices.Clone(p.Args)
	for i, arg := range p.Args {
		p.Args[i] = values.Replace(arg)
	}
	for i := range p.Env {
		p.Env[i].Value = values.Replace(p.Env[i].Value)
	}
}

// placeholder is a dim as an argument or a variable of a program names it.
var placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// programDims are the dims that arguments and variables of a program name.
func (s *settings) programDims() []string {
	c := Case{Program: &Program{}}
	for _, set := range s.sets {
		set(&c)
	}
	texts := slices.Clone(s.args)
	for _, v := range c.Program.Env {
		texts = append(texts, v.Value)
	}
	var names []string
	for _, t := range texts {
		for _, found := range placeholder.FindAllStringSubmatch(t, -1) {
			names = append(names, found[1])
		}
	}
	return names
}

// plainWord is an argument that can stand in the name of a case.
var plainWord = regexp.MustCompile(`^[\w./:=+@%-]{1,40}$`)

// programLabel is what distinguishes a case of a program by its own ranks: and args:, such as
// world_size=8 and "--batch 2". Arguments that name a dim are left out, since the dim is in the
// name; so are those with characters that a name should not have.
func (s *settings) programLabel() []string {
	c := Case{Program: &Program{}}
	for _, set := range s.sets {
		set(&c)
	}
	var out []string
	if r := c.Program.Ranks; r != nil {
		if r.WorldSize > 0 {
			out = append(out, fmt.Sprintf("world_size=%d", r.WorldSize))
		}
		if r.NProcPerNode > 0 {
			out = append(out, fmt.Sprintf("nproc_per_node=%d", r.NProcPerNode))
		}
		if len(r.Run) > 0 {
			out = append(out, "run="+strings.Join(r.Run, "+"))
		}
	}
	if len(s.args) > 0 && !slices.ContainsFunc(s.args, func(a string) bool { return !plainWord.MatchString(a) }) {
		out = append(out, strings.Join(s.args, " "))
	}
	return out
}

// WithWords is a case of a program with further arguments behind its own. Its name stays as it is.
func (c *Case) WithWords(words ...string) Case {
	out, p := *c, *c.Program
	p.Args = append(slices.Clone(p.Args), words...)
	out.Program = &p
	return out
}

// Command is the program with its arguments as memshim run takes it.
func (p *Program) Command() []string {
	if p.Module != "" {
		return append([]string{"-m", p.Module}, p.Args...)
	}
	return append([]string{p.File}, p.Args...)
}

// Environ is an environment, NAME=VALUE, with what the program's case sets and removes; nil where
// it is not known.
func (p *Program) Environ(environ []string) []string {
	if environ == nil || p == nil {
		return environ
	}
	out := slices.Clone(environ)
	for _, v := range p.Env {
		out = slices.DeleteFunc(out, func(e string) bool { return strings.HasPrefix(e, v.Name+"=") })
		if !v.Unset {
			out = append(out, v.Name+"="+v.Value)
		}
	}
	return out
}

// text is the program in a line: what distinguishes two runs of it.
func (p *Program) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "program %q module %q cwd %q args %q", p.File, p.Module, p.Cwd, p.Args)
	if p.Serve {
		b.WriteString(" serve")
	}
	if p.Steps > 0 {
		fmt.Fprintf(&b, " steps %d", p.Steps)
	}
	b.WriteString(p.Ranks.text())
	for _, v := range p.Env {
		fmt.Fprintf(&b, " env %q %q %t", v.Name, v.Value, v.Unset)
	}
	return b.String()
}

// ProgramJSON is a Program.
type ProgramJSON struct {
	Words []string           `json:"words"` // as memshim run takes them after --
	Cwd   string             `json:"cwd"`   // a path as Dir is
	Env   map[string]*string `json:"env"`   // null removes a variable
	Steps int                `json:"steps"` // 0: to its end
	Ranks *RanksJSON         `json:"ranks"` // null: one process
	Serve bool               `json:"serve"` // the words are an engine's command, as memshim serve takes them
}

func (c *Case) programJSON() *ProgramJSON {
	if c.Program == nil {
		return nil
	}
	j := &ProgramJSON{Words: c.Program.Command(), Cwd: c.inDir(c.Program.Cwd), Env: map[string]*string{},
		Steps: c.Program.Steps, Ranks: c.Program.Ranks.json(), Serve: c.Program.Serve}
	for _, v := range c.Program.Env {
		j.Env[v.Name] = &v.Value
		if v.Unset {
			j.Env[v.Name] = nil
		}
	}
	return j
}

// RunWords are the words of the command that runs the program, with options of memshim run, or of
// memshim serve.
func (p *Program) RunWords(options ...string) []string {
	var words []string
	for _, v := range p.Env {
		if v.Unset {
			words = append(words, "-u", v.Name)
		}
	}
	for _, v := range p.Env {
		if !v.Unset {
			words = append(words, v.Name+"="+v.Value)
		}
	}
	if len(words) > 0 {
		words = append([]string{"env"}, words...)
	}
	run := "run"
	if p.Serve {
		run = "serve"
	}
	words = append(append(words, "python", "-m", "memshim", run), options...)
	return append(append(words, "--"), p.Command()...)
}
