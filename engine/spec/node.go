package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/memspec/memspec/engine/verdict"
)

// Limits on a memspec.yaml, far above what anybody writes and far below what would hurt.
const (
	MaxFile       = 1 << 20
	maxNodeVisits = 200_000 // every look at a node through every alias counts: an alias bomb ends here
	maxNodeDepth  = 64
	maxCases      = 10_000
	maxErrors     = 1_000
)

// reader walks the nodes of one file and gathers what is wrong with it.
type reader struct {
	file   string
	lines  []int // runes of each line
	errs   Errors
	visits int
	full   bool         // the budget of visits is spent; said once
	placed []placedExpr // of the input that is being read
}

func newReader(file string, data []byte) *reader {
	r := &reader{file: file}
	for line := range bytes.Lines(data) {
		r.lines = append(r.lines, utf8.RuneCount(bytes.TrimRight(line, "\r\n")))
	}
	return r
}

// addedLines is added to the lines of nodes that WithLines adds to those of a file.
const addedLines = 1 << 30

// markAdded adds addedLines to the lines of a node and of those in it.
func markAdded(n *yaml.Node) {
	if n == nil {
		return
	}
	n.Line += addedLines
	for _, in := range n.Content {
		markAdded(in)
	}
}

// pos is a place inside the file: a line and column that lie beyond it are moved to its edge.
func (r *reader) pos(line, col int) Pos {
	if line > addedLines {
		return Pos{File: verdict.Added, Line: line - addedLines, Col: max(1, col)}
	}
	line = max(1, min(line, len(r.lines)))
	width := 0
	if line <= len(r.lines) {
		width = r.lines[line-1]
	}
	return Pos{File: r.file, Line: line, Col: max(1, min(col, width+1))}
}

func (r *reader) at(n *yaml.Node) Pos { return r.pos(n.Line, n.Column) }

func (r *reader) errorf(n *yaml.Node, format string, args ...any) {
	r.errorAt(r.at(n), format, args...)
}

func (r *reader) errorAt(p Pos, format string, args ...any) {
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, &Error{Pos: p, Msg: fmt.Sprintf(format, args...)})
	}
}

// errorIn reports something at a byte offset of a scalar's text. The column is right where the text
// stands on one line as it is.
func (r *reader) errorIn(n *yaml.Node, offset int, err error) {
	p := r.at(n)
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 && offset <= len(n.Value) {
		col := n.Column + utf8.RuneCountInString(n.Value[:offset])
		if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			col++
		}
		p = r.pos(n.Line, col)
	}
	r.errorAt(p, "%s", inFile(err))
}

// root reads the file's one document, or nil with the error reported.
func (r *reader) root(data []byte) (root *yaml.Node) {
	if len(data) > MaxFile {
		r.errorAt(r.pos(1, 1), "got a file of %d bytes, want at most %d", len(data), MaxFile)
		return nil
	}
	defer func() {
		if r.failed(recover()) {
			root = nil
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF) || err == nil && (len(doc.Content) == 0 || isNull(doc.Content[0])):
		r.errorAt(r.pos(1, 1), "got an empty file, want version: %d and models:", Version)
		return nil
	case err != nil:
		r.syntaxError(data, err)
		return nil
	}
	if err := dec.Decode(&second); err == nil {
		r.errorf(&second, "got a second document, want one")
	} else if !errors.Is(err, io.EOF) {
		r.syntaxError(data, err)
	}
	return doc.Content[0]
}

// failed reports a panic of the YAML library, nil for none.
func (r *reader) failed(panicked any) bool {
	if panicked != nil {
		r.errorAt(r.pos(1, 1), "internal error: the YAML reader failed: %v", panicked)
	}
	return panicked != nil
}

var (
	yamlMessage = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`) })
	// The library counts its parser's lines from 0 (and reports none for the first), its scanner's
	// from 1: these are the parser's.
	parserMessage = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`^(did not find expected (',' or '[]}]'|'-' indicator|<.*>|key|node content)|found (duplicate|incompatible|undefined) .*)$`)
	})
	unknownAnchor = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	})
)

// syntaxError turns the library's message, which names a line at best, into ours.
func (r *reader) syntaxError(data []byte, err error) {
	if bytes.HasPrefix(data, []byte("PK\x03\x04")) {
		r.errorAt(r.pos(1, 1), "got an archive, want a file of cases: memspec estimate takes an archive, memspec init "+
			"writes a file of cases for it")
		return
	}
	line, col, msg := 1, 1, err.Error()
	if m := yamlMessage().FindStringSubmatch(msg); m != nil {
		msg = m[2]
		if m[1] != "" {
			line, _ = strconv.Atoi(m[1])
			if parserMessage().MatchString(msg) {
				line++
			}
		}
	}
	if m := unknownAnchor().FindStringSubmatch(msg); m != nil {
		if i := bytes.Index(data, []byte("*"+m[1])); i >= 0 {
			line = 1 + bytes.Count(data[:i], []byte("\n"))
			col = i - bytes.LastIndexByte(data[:i], '\n')
		}
		msg = fmt.Sprintf("got the alias *%s, want one of an anchor above it", m[1])
	}
	if at, ok := notUTF8(data); ok && !strings.HasPrefix(msg, "control characters") {
		line, col, msg = at.Line, at.Col, fmt.Sprintf("got the byte %#02x, which is no UTF-8", data[at.offset])
	}
	if lines := bytes.Split(data, []byte("\n")); line <= len(lines) && bytes.HasPrefix(lines[line-1], []byte("\t")) {
		msg += ": YAML indents with spaces, not tabs"
	}
	if strings.Contains(msg, "did not find expected ',' or '}'") {
		if at, ok := bareShape(data); ok {
			line, col = at.Line, at.Col
			msg += `: a shape within { } stands in quotes, as in {x: "float32[1,3,224,224]"}`
		}
	}
	r.errorAt(r.pos(line, col), "not YAML: %s", strings.ToValidUTF8(msg, "?"))
}

// notUTF8 is the first byte of a text that is no UTF-8: the library names no place.
func notUTF8(data []byte) (at struct{ Line, Col, offset int }, found bool) {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		// UTF-16, which YAML allows
		return at, false
	}
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size == 1 {
			begin := bytes.LastIndexByte(data[:i], '\n') + 1
			at.Line, at.Col, at.offset = 1+bytes.Count(data[:i], []byte("\n")), 1+utf8.RuneCount(data[begin:i]), i
			return at, true
		}
		i += size
	}
	return at, false
}

var shapeInBraces = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{[^{}"']*?:\s*([a-z]+[0-9]*\[)`)
})

// bareShape is the first shape within braces that does not stand in quotes: YAML takes its brackets
// and commas for its own.
func bareShape(data []byte) (Pos, bool) {
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if m := shapeInBraces().FindSubmatchIndex(text); m != nil {
			return Pos{Line: line, Col: 1 + utf8.RuneCount(text[:m[2]])}, true
		}
	}
	return Pos{}, false
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// deref follows aliases and counts the visit. It returns nil once the budget is spent or an alias
// leads to itself.
func (r *reader) deref(n *yaml.Node) *yaml.Node {
	for hops := 0; n != nil && n.Kind == yaml.AliasNode; hops++ {
		if hops > 8 {
			return nil
		}
		n = n.Alias
	}
	r.visits++
	if r.visits > maxNodeVisits {
		if !r.full && n != nil {
			r.full = true
			r.errorf(n, "got more than %d values, aliases counted, want fewer", maxNodeVisits)
		}
		return nil
	}
	return n
}

// kindName is a node's kind in the words of YAML.
func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if n.Tag == "!!null" {
		return "nothing"
	}
	return strconv.Quote(shorten(n.Value))
}

func shorten(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

// entry is a key of a mapping with its value, aliases followed.
type entry struct {
	name string
	key  *yaml.Node
	val  *yaml.Node
}

// mapping lists a mapping's entries in the order written; merged ones (<<) come where they stand
// and give way to own ones. what is the word for the error.
func (r *reader) mapping(n *yaml.Node, what string) []entry {
	return r.mappingAt(n, what, 0)
}

func (r *reader) mappingAt(n *yaml.Node, what string, depth int) []entry {
	n = r.deref(n)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.errorf(n, "got %s, want %s", kindName(n), what)
		return nil
	}
	if depth > maxNodeDepth {
		r.errorf(n, "got merge keys nested deeper than %d", maxNodeDepth)
		return nil
	}
	own, merges, ok := r.ownEntries(n)
	if !ok || len(merges) == 0 {
		return own
	}
	return r.withMerged(n, own, what, depth)
}

// ownEntries lists a mapping's entries without merged ones, and its merge keys; false where the
// budget of visits is spent.
func (r *reader) ownEntries(n *yaml.Node) (own []entry, merges []*yaml.Node, ok bool) {
	own = make([]entry, 0, len(n.Content)/2)
	seen := newEntries(&own)
	for i := 0; i < len(n.Content); i += 2 {
		k := r.deref(n.Content[i])
		if k == nil {
			return own, merges, false
		}
		if k.Kind != yaml.ScalarNode {
			r.errorf(n.Content[i], "got %s as a key, want a name", kindName(k))
			continue
		}
		if isMerge(k) {
			merges = append(merges, n.Content[i+1])
			continue
		}
		if first := seen.find(k.Value); first != nil {
			r.errorf(n.Content[i], "got the key %q twice, first at line %d", shorten(k.Value), r.at(first.key).Line)
			continue
		}
		if v := r.deref(n.Content[i+1]); v != nil {
			seen.add(entry{k.Value, n.Content[i], v})
		}
	}
	return own, merges, true
}

// entries is a list of entries that is searched: through an index once it is long, so that a
// hostile file costs no square.
type entries struct {
	list  *[]entry
	index map[string]int
}

func newEntries(list *[]entry) *entries {
	e := &entries{list: list}
	e.reindex()
	return e
}

func (e *entries) reindex() {
	const short = 16
	if len(*e.list) <= short {
		return
	}
	e.index = make(map[string]int, 2*len(*e.list))
	for i := range *e.list {
		e.index[(*e.list)[i].name] = i
	}
}

func (e *entries) add(x entry) {
	*e.list = append(*e.list, x)
	if e.index == nil {
		e.reindex()
		return
	}
	e.index[x.name] = len(*e.list) - 1
}

func (e *entries) find(name string) *entry {
	if e.index != nil {
		if i, ok := e.index[name]; ok {
			return &(*e.list)[i]
		}
		return nil
	}
	if i := slices.IndexFunc(*e.list, func(x entry) bool { return x.name == name }); i >= 0 {
		return &(*e.list)[i]
	}
	return nil
}

// withMerged puts merged entries where their merge keys stand. Own ones win, then earlier ones.
func (r *reader) withMerged(n *yaml.Node, own []entry, what string, depth int) []entry {
	var out []entry
	mine, all := newEntries(&own), newEntries(&out)
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		if !isMerge(k) {
			if e := mine.find(r.keyText(k)); e != nil && e.key == k {
				all.add(*e)
			}
			continue
		}
		for _, e := range r.merged(n.Content[i+1], what, depth) {
			if mine.find(e.name) == nil && all.find(e.name) == nil {
				all.add(e)
			}
		}
	}
	return out
}

// keyText is a key's text through aliases.
func (r *reader) keyText(k *yaml.Node) string {
	if k = r.deref(k); k != nil {
		return k.Value
	}
	return ""
}

func isMerge(k *yaml.Node) bool { return k.Value == "<<" && (k.Tag == "!!merge" || k.Tag == "") }

// merged lists what a merge key brings: one mapping, or several, the earlier first.
func (r *reader) merged(n *yaml.Node, what string, depth int) []entry {
	v := r.deref(n)
	if v == nil || v.Kind != yaml.SequenceNode {
		return r.mappingAt(n, what, depth+1)
	}
	var out []entry
	for _, m := range v.Content {
		out = append(out, r.mappingAt(m, what, depth+1)...)
	}
	return out
}

// list returns a list's items, aliases followed.
func (r *reader) list(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		r.errorf(n, "got %s, want %s", kindName(n), what)
		return nil
	}
	out := make([]*yaml.Node, 0, len(n.Content))
	for _, c := range n.Content {
		if v := r.deref(c); v != nil {
			out = append(out, v)
		}
	}
	return out
}

// text is a scalar's text as written, whatever YAML takes it for: a torch of 2.10 stays 2.10.
func (r *reader) text(n *yaml.Node, what string) (string, bool) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		r.errorf(n, "got %s, want %s", kindName(n), what)
		return "", false
	}
	return n.Value, true
}

func (r *reader) boolean(n *yaml.Node) (val, ok bool) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!bool" {
		switch strings.ToLower(n.Value) {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	}
	r.errorf(n, "got %s, want true or false", kindName(n))
	return false, false
}

// whole reads a decimal whole number of at least least.
func (r *reader) whole(n *yaml.Node, least int64) (int64, bool) {
	v, err := strconv.ParseInt(n.Value, 10, 64)
	switch {
	case n.Kind != yaml.ScalarNode || err != nil && !errors.Is(err, strconv.ErrRange):
		r.errorf(n, "got %s, want a whole number", kindName(n))
	case err != nil:
		r.errorf(n, "got %s, want a number that fits int64", shorten(n.Value))
	case v < least:
		r.errorf(n, "got %d, want %d or more", v, least)
	default:
		return v, true
	}
	return 0, false
}

// oneOf reads a word of a fixed set.
func (r *reader) oneOf(n *yaml.Node, words ...string) (string, bool) {
	want := strings.Join(words, " or ")
	if len(words) > 2 {
		want = strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
	}
	s, ok := r.text(n, want)
	if !ok {
		return "", false
	}
	for _, w := range words {
		if s == w {
			return s, true
		}
	}
	r.errorf(n, "got %q, want %s%s", shorten(s), want, didYouMean(s, words))
	return "", false
}

func didYouMean(word string, candidates []string) string {
	if n := Nearest(word, candidates); n != "" {
		return fmt.Sprintf(": did you mean %q?", n)
	}
	return ""
}
