package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A Reader reads a text and prints what it read.
type Reader func(text string) (string, error)

// ErrNothingToReport is a Reader's error where there is nothing to report.
var ErrNothingToReport = errors.New("nothing to report")

// word is what a text is damaged by: a name, a number, a string, a sign, or the white space that
// opens a line.
var word = regexp.MustCompile(`\n[ \t]*|[A-Za-z_][A-Za-z0-9_]*|[0-9]+|"[^"\n]*"|'[^'\n]*'|[^\sA-Za-z0-9_]`)

// Damage says what a reader says to a text in which one word is damaged, for each word: left out,
// written twice, another, or the last that there is. Under each line of the text stand the words
// and what is said: an error, or how the lines that were read differ. What changes nothing is not
// known.
func Damage(t testing.TB, text string, read Reader) string {
	t.Helper()
	return DamageBy(t, text, read, damageWord)
}

// DamageBy is Damage by one's own changes: of the word text[from:to] they are what is known of a
// change and the text with it.
func DamageBy(t testing.TB, text string, read Reader, changes func(text string, from, to int) [][2]string) string {
	t.Helper()
	whole, err := read(text)
	if err != nil {
		t.Fatalf("the text as it is: %v", err)
	}
	var out strings.Builder
	lines, at := strings.SplitAfter(text, "\n"), 0
	for number, line := range lines {
		var said []string
		for _, span := range word.FindAllStringIndex(line, -1) {
			from, to := at+span[0], at+span[1]
			for _, c := range changes(text, from, to) {
				if got := outcome(c[1], whole, read); got != "" {
					said = append(said, fmt.Sprintf("\t%d %s %s: %s\n", column(text, from),
						strings.ReplaceAll(text[from:to], "\n", "␤"), c[0], got))
				}
			}
		}
		at += len(line)
		if len(said) > 0 {
			fmt.Fprintf(&out, "%d | %s\n%s", number+1, strings.TrimRight(line, "\n"), strings.Join(said, ""))
		}
	}
	return out.String()
}

func damageWord(text string, from, to int) [][2]string {
	was := text[from:to]
	changes := [][2]string{{"without", ""}}
	switch c := was[0]; {
	case c == '\n':
		changes = [][2]string{{"joined", " "}, {"deeper", was + "  "}}
	case '0' <= c && c <= '9':
		changes = append(changes, [2]string{"as 0", "0"}, [2]string{"as 7", "7"}, [2]string{"as -1", "-1"},
			[2]string{"far larger", was + "0000000000000000000"})
	case c == '"' || c == '\'':
		changes = append(changes, [2]string{"empty", was[:1] + was[:1]},
			[2]string{"another", was[:1] + "other" + was[:1]}, [2]string{"open", was[:len(was)-1]})
	case c == '_' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z':
		changes = append(changes, [2]string{"as other", "other"}, [2]string{"as 7", "7"})
	default:
		changes = append(changes, [2]string{"twice", was + was}, [2]string{"as ;", ";"})
	}
	for i, c := range changes {
		changes[i][1] = text[:from] + c[1] + text[to:]
	}
	return append(changes, [2]string{"is the last", text[:to]})
}

func column(text string, at int) int { return at - strings.LastIndexByte(text[:at], '\n') }

// outcome is what is said to a damaged text: an error on one line, or the first lines that are read
// otherwise; "" where it reads the same.
func outcome(damaged, whole string, read Reader) string {
	got, err := read(damaged)
	if errors.Is(err, ErrNothingToReport) {
		return ""
	}
	if err != nil {
		return strings.ReplaceAll(err.Error(), "\n", " ↵ ")
	}
	return strings.TrimRight(difference(whole, got), " ")
}

func difference(want, got string) string {
	if want == got {
		return ""
	}
	const most = 2 // of lines that are reported on either side
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	side := func(mark string, lines []string) string {
		more := ""
		if len(lines) > most {
			more = fmt.Sprintf(" ↵ (%d more)", len(lines)-most)
			lines = lines[:most]
		}
		if len(lines) == 0 {
			return ""
		}
		for i, l := range lines {
			lines[i] = strings.TrimSpace(l)
		}
		return " " + mark + strings.Join(lines, " ↵ ") + more
	}
	if len(a) == 1 && len(b) == 1 {
		return "reads" + side("", slices.Clone(b))
	}
	return "reads" + side("-", slices.Clone(a)) + side("+", slices.Clone(b))
}

// DamageJSON says what a reader says to a document in which one value is another or missing, for
// each value, by its path. What changes nothing is not known, nor what is said again where only
// numbers differ; of the members of a list two are damaged.
func DamageJSON(t testing.TB, text string, read Reader) string {
	t.Helper()
	whole, err := read(text)
	if err != nil {
		t.Fatalf("the document as it is: %v", err)
	}
	var root any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&root); err != nil {
		t.Fatal(err)
	}
	w := &jsonDamage{root: root, whole: whole, read: read, seen: map[string]int{}, reported: map[string]bool{},
		said: map[string][]string{}}
	w.value("", "", root, func(v any) { w.root = v })
	return w.out.String()
}

type jsonDamage struct {
	root     any
	whole    string
	read     Reader
	seen     map[string]int      // how often a shape was met
	reported map[string]bool     // what was said, except its numbers
	said     map[string][]string // of the value at hand: what was tried, by what came of it
	order    []string            // the keys of said
	out      strings.Builder
}

var anyIndex = regexp.MustCompile(`[0-9]+`)

// mostAlike is how many members of lists are damaged at the same place: they are mostly alike.
const mostAlike = 2

// try reads the document as it now is, and keeps what is said of the value at hand.
func (w *jsonDamage) try(what string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(w.root); err != nil {
		panic(err)
	}
	got := outcome(b.String(), w.whole, w.read)
	if got == "" {
		return
	}
	if w.said[got] == nil {
		w.order = append(w.order, got)
	}
	w.said[got] = append(w.said[got], what)
}

// report writes what was said of a value, and forgets it.
func (w *jsonDamage) report(path string) {
	for _, got := range w.order {
		what := strings.Join(w.said[got], ", ")
		key := anyIndex.ReplaceAllString(path+" "+what+": "+got, "")
		if !w.reported[key] {
			w.reported[key] = true
			fmt.Fprintf(&w.out, "%s %s: %s\n", path, what, got)
		}
	}
	w.order, w.said = nil, map[string][]string{}
}

// alike says whether an object is a list by names: three members or more, which are objects with
// the same members.
func alike(v map[string]any) bool {
	var first []string
	for _, x := range v {
		m, ok := x.(map[string]any)
		if !ok || len(v) < 3 {
			return false
		}
		keys := sortedKeys(m)
		if first == nil {
			first = keys
		}
		if !slices.Equal(keys, first) {
			return false
		}
	}
	return true
}

// value damages a value and all that it holds; shape is its path except what distinguishes members
// of a list, and set puts another in its place.
func (w *jsonDamage) value(path, shape string, v any, set func(any)) {
	if w.seen[shape]++; w.seen[shape] > mostAlike {
		return
	}
	others := map[string]any{"null": nil}
	switch v := v.(type) {
	case json.Number:
		others["far larger"], others["0"], others["3"], others["-1"] = json.Number("10000000000000000000"),
			json.Number("0"), json.Number("3"), json.Number("-1")
	case bool:
		others["the opposite"] = !v
	case string:
		others[`""`], others[`"other"`], others["7"] = "", "other", json.Number("7")
	case []any:
		others["[]"], others["7"] = []any{}, json.Number("7")
	default:
		others["{}"], others["[]"] = map[string]any{}, []any{}
	}
	for _, what := range sortedKeys(others) {
		set(others[what])
		w.try("as " + what)
	}
	set(v)
	if v, ok := v.([]any); ok && len(v) > 0 {
		set(append(slices.Clone(v), v[len(v)-1]))
		w.try("with its last twice")
		set(v[:len(v)-1])
		w.try("without its last")
		set(v)
	}
	w.report(path)
	switch v := v.(type) {
	case []any:
		for i := range v {
			w.value(fmt.Sprintf("%s[%d]", path, i), shape+"[]", v[i], func(x any) { v[i] = x })
		}
	case map[string]any:
		listed := alike(v)
		for _, k := range sortedKeys(v) {
			at, name, was := path+"."+k, "."+k, v[k]
			if listed {
				name = ".*"
			}
			w.value(at, shape+name, was, func(x any) { v[k] = x })
			delete(v, k)
			w.try("missing")
			v[k+"_"] = was
			w.try("by another name")
			delete(v, k+"_")
			v[k] = was
			w.report(at)
		}
	}
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
