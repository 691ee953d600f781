package torchscript

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unsafe"

	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/program"
)

// This file turns *.debug_pkl into source ranges: which part of the user's own text an operation of
// the printed code comes from (torch/csrc/jit/serialization/source_range_serialization.cpp). Two
// formats are known:
//
//	("FORMAT_WITH_STRING_TABLE", strings, records)
//	records
//
// A record is (offset, range) or (offset, range, tag) or (offset, tag, range), a range is (source,
// start, end), and a source is (text, file, first line). With a string table text is a list of
// indices, whose strings make the text one after another, and file is an index. A record holds from
// its offset to the next one's.

// debugTable is a file's records by offset, and their sources. A traced archive records a stack for
// every operation that was recorded, most of which are in no program: so a source is made when a
// node asks for it, while its file is the one that was read last, and else before the next file is
// read.
type debugTable struct {
	read    bool
	records []debugRecord
	sources []debugSource
	whole   bool // every source is made
	last    int  // found last: nodes come in order
}

type debugRecord struct{ offset, start, end, source int32 }

type debugSource struct {
	at   rangeValue
	made bool
	from *origin // nil where the archive does not record
}

// origin is what an operation comes from: a text of the user's, or a Python stack.
type origin struct {
	text  *program.SourceText
	stack *program.Stack
}

// at is the record that holds an offset, nil where there is none.
func (t *debugTable) at(pos python.Pos) *debugRecord {
	rs, p := t.records, int32(pos)
	if len(rs) == 0 || p < rs[0].offset {
		return nil
	}
	i := t.last
	for steps := 0; ; steps++ {
		switch {
		case rs[i].offset > p || steps == 8:
			i = sort.Search(len(rs), func(k int) bool { return rs[k].offset > p }) - 1
		case i+1 < len(rs) && rs[i+1].offset <= p:
			i++
			continue
		}
		break
	}
	t.last = i
	return &rs[i]
}

// where is the place at an offset of a file.
func (d *decoder) where(f *sourceFile, pos python.Pos) (program.Where, error) {
	r := f.debug.at(pos)
	if r == nil {
		return program.Where{}, nil
	}
	from, err := d.origin(f, int(r.source))
	if from == nil || err != nil {
		return program.Where{}, err
	}
	return program.Where{SourceRange: program.SourceRange{Text: from.text, Start: r.start, End: r.end},
		Stack: from.stack}, nil
}

// origin is a source of a file's records.
func (d *decoder) origin(f *sourceFile, number int) (*origin, error) {
	s := &f.debug.sources[number]
	if s.made {
		return s.from, nil
	}
	if d.debugged != f {
		return nil, fmt.Errorf("%s.debug_pkl: internal error: got source %d asked for behind another file's, want it made "+
			"before", f.Name, number)
	}
	from, err := d.sources.source(s.at)
	if err != nil {
		return nil, fmt.Errorf("%s.debug_pkl: %w", f.Name, err)
	}
	s.from, s.made = from, true
	return from, nil
}

// makeSources makes every source of the file that was read last.
func (d *decoder) makeSources() error {
	f := d.debugged
	for i := range f.debug.sources {
		if _, err := d.origin(f, i); err != nil {
			return err
		}
	}
	f.debug.whole = true
	return nil
}

// readDebug reads a file's records, once. An archive without them is fine.
func (d *decoder) readDebug(f *sourceFile) error {
	if f.debug.read {
		return nil
	}
	if last := d.debugged; last != nil && !last.debug.whole && last.lowered < last.funcs {
		if err := d.makeSources(); err != nil {
			return err
		}
	}
	d.debugged = nil
	f.debug.read = true
	name := f.Name + ".debug_pkl"
	if z, ok := d.fs.(interface{ Twin(name string) string }); ok {
		// Classes that were copied under other names often have the same records.
		if t := d.records[z.Twin(name)]; t != nil && t.whole {
			f.debug.records, f.debug.sources, f.debug.whole = t.records, t.sources, true
			return nil
		}
	}
	data, err := d.readDebugFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := d.debugRecords(&f.debug, data); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	d.records[name], d.debugged = &f.debug, f
	if d.prog.Records == program.RecordsSource && d.recordsKnown { // few, and all asked for
		return d.makeSources()
	}
	return nil
}

// readDebugFile returns a debug record, good until the next one is read. What is kept of it is
// copied.
func (d *decoder) readDebugFile(name string) (string, error) {
	z, ok := d.fs.(interface {
		ReadInto(buf []byte, name string) ([]byte, error)
	})
	if !ok {
		return d.readFile(name)
	}
	data, err := z.ReadInto(d.debugBuf, name)
	if err != nil {
		return "", err
	}
	d.debugBuf = data
	return unsafe.String(unsafe.SliceData(data), len(data)), nil
}

func (d *decoder) debugRecords(t *debugTable, data string) error {
	m := &d.ranges
	root, err := m.run(data)
	if err != nil {
		return err
	}
	top, err := m.items(root)
	if err != nil {
		return err
	}
	s := &d.sources
	s.d, s.m, s.table, s.list = d, m, nil, s.list[:0]
	s.numbers = append(s.numbers[:0], make([]int32, len(m.arena)+1)...)
	if len(top) == 3 && top[0].kind == rangeText && m.text(top[0]) == "FORMAT_WITH_STRING_TABLE" {
		if s.table, err = m.items(top[1]); err != nil {
			return err
		}
		s.frames = append(s.frames[:0], make([]*program.Frame, len(s.table))...)
		if top, err = m.items(top[2]); err != nil {
			return err
		}
	}
	t.records = make([]debugRecord, 0, len(top))
	for _, r := range top {
		rec, err := s.record(r)
		if err != nil {
			return err
		}
		if n := len(t.records); n > 0 && t.records[n-1].offset > rec.offset {
			return fmt.Errorf("got offset %d after %d, want them in order", rec.offset, t.records[n-1].offset)
		}
		t.records = append(t.records, rec)
	}
	t.sources = slices.Clone(s.list)
	return nil
}

// debugSources makes the sources of one file's records.
type debugSources struct {
	d       *decoder
	m       *rangeMachine
	table   []rangeValue
	frames  []*program.Frame // by place in the table
	numbers []int32          // of sources by the tuple's place, from 1
	list    []debugSource    // by number
	build   []byte
}

func (s *debugSources) record(v rangeValue) (r debugRecord, err error) {
	parts, err := s.m.items(v)
	if err != nil || len(parts) < 2 || parts[0].kind != rangeInt {
		return r, errors.New("got a record without an offset and a range")
	}
	where := parts[1]
	if where.kind != rangeTuple && len(parts) > 2 {
		where = parts[2]
	}
	span, _ := s.m.items(where) // none of what is no list
	if len(span) != 3 || span[1].kind != rangeInt || span[2].kind != rangeInt {
		return r, errors.New("got a range without source, start and end")
	}
	r.offset, r.start, r.end = parts[0].a, span[1].a, span[2].a
	if span[0].kind != rangeTuple {
		return r, errors.New("got a range without source, start and end")
	}
	number := &s.numbers[span[0].a]
	if *number == 0 {
		s.list = append(s.list, debugSource{at: span[0]})
		*number = int32(len(s.list))
	}
	r.source = *number - 1
	return r, nil
}

// source makes a source, nil for an empty one.
func (s *debugSources) source(v rangeValue) (*origin, error) {
	parts, err := s.m.items(v)
	if err != nil || len(parts) != 3 || parts[2].kind != rangeInt {
		return nil, errors.New("got a source without text, file and line")
	}
	file, err := s.str(parts[1])
	if err != nil {
		return nil, err
	}
	line := int(parts[2].a)
	if parts[0].kind == rangeText {
		return s.intern(s.m.text(parts[0]), file, line), nil
	}
	ids, err := s.m.items(parts[0])
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	s.build = s.build[:0]
	for i, id := range ids {
		piece, err := s.str(id)
		if err != nil {
			return nil, err
		}
		if i == 0 && isFrame(piece, file, line) {
			return s.stack(ids)
		}
		s.build = append(s.build, piece...)
		if len(s.build) > maxText {
			return nil, fmt.Errorf("got a text of more than %d bytes, want less", maxText)
		}
	}
	return s.intern(unsafe.String(unsafe.SliceData(s.build), len(s.build)), file, line), nil
}

// maxText is the longest text of a source: pieces may repeat, so that few bytes could ask for many.
const maxText = 1 << 20

// str is a string, or the entry of the table with that number, or None.
func (s *debugSources) str(v rangeValue) (string, error) {
	if v.kind == rangeInt {
		if v.a < 0 || int(v.a) >= len(s.table) {
			return "", fmt.Errorf("got string %d of a table of %d", v.a, len(s.table))
		}
		v = s.table[v.a]
	}
	switch v.kind {
	case rangeText:
		return s.m.text(v), nil
	case rangeNone:
		return "", nil
	}
	return "", errors.New("got a source whose text or file is no string")
}

// isFrame says whether a text begins as a stack does: with the file and line that stand beside it.
func isFrame(text, file string, line int) bool {
	rest, ok := strings.CutPrefix(text, file)
	return ok && strings.HasPrefix(rest, "("+strconv.Itoa(line)+"): ")
}

// stack is the source of a traced operation: its Python stack.
func (s *debugSources) stack(ids []rangeValue) (*origin, error) {
	length := 0
	frames := make([]*program.Frame, 0, len(ids))
	for _, id := range ids {
		if id.kind == rangeInt && uint(id.a) < uint(len(s.frames)) && s.frames[id.a] != nil { // known
			length += int(s.table[id.a].b)
			frames = append(frames, s.frames[id.a])
			continue
		}
		line, err := s.str(id)
		if err != nil {
			return nil, err
		}
		length += len(line)
		if id.kind != rangeInt {
			return nil, errors.New("got a stack of strings, want entries of the table")
		}
		if s.frames[id.a] == nil {
			s.frames[id.a] = s.d.frame(line)
		}
		if f := s.frames[id.a]; f != nil {
			frames = append(frames, f)
		}
	}
	if length > maxText {
		return nil, fmt.Errorf("got a stack of more than %d bytes, want less", maxText)
	}
	return &origin{stack: &program.Stack{Frames: frames}}, nil
}

// frame is the frame a line reports, nil for a line that reports none. The same few lines make all
// stacks of an archive.
func (d *decoder) frame(line string) *program.Frame {
	if f, ok := d.frames[line]; ok {
		return f
	}
	line = strings.Clone(line)
	var p *program.Frame
	if f, ok := parseFrame(strings.TrimSuffix(line, "\n")); ok {
		p = &f
	}
	d.frames[line] = p
	return p
}

// intern makes one origin of equal ones: a class that was copied under many names brings its text
// as often. The text of a traced archive without a string table is a stack as well. Text and file
// are copied where they are kept.
func (s *debugSources) intern(text, file string, line int) *origin {
	if text == "" {
		return nil
	}
	traced := isFrame(text, file, line)
	if traced {
		file, line = "", 0
	}
	key := sourceKey{text, file, line}
	t := s.d.texts[key]
	if t == nil {
		text, file = strings.Clone(text), strings.Clone(file)
		key = sourceKey{text, file, line}
		t = &origin{}
		if traced {
			t.stack = &program.Stack{}
			for l := range strings.SplitSeq(text, "\n") {
				if f := s.d.frame(l); f != nil {
					t.stack.Frames = append(t.stack.Frames, f)
				}
			}
		} else {
			t.text = &program.SourceText{File: file, FirstLine: line, Text: text}
		}
		s.d.texts[key] = t
	}
	return t
}

type sourceKey struct {
	text, file string
	line       int
}

// findRecords knows traced archives by the stacks in their records, and frozen ones by their
// weights. A root that only calls its child has no record that reports: then the other files are
// asked, in order.
func (d *decoder) findRecords() error {
	p := d.prog
	p.Records = program.RecordsSource
	if e := p.Entry; e != nil {
		found := false
		for _, root := range [2]bool{true, false} {
			for i := range d.files {
				f := &d.files[i]
				if found || (f.Name == e.Record) != root {
					continue
				}
				if err := d.readDebug(f); err != nil {
					return err
				}
				for i := range f.debug.records {
					from, err := d.origin(f, int(f.debug.records[i].source))
					if err != nil {
						return err
					}
					if from != nil {
						found = true
						if from.text == nil || from.text.File == "" {
							p.Records = program.RecordsStacks
						}
						break
					}
				}
			}
		}
	}
	d.recordsKnown = true
	if frozen(p) {
		p.Records = program.RecordsNothing
	}
	if p.Records == program.RecordsStacks { // which numbers the calls of one module: forward, forward1, forward2
		for _, c := range p.Classes {
			for _, m := range c.Methods {
				m.Module = c.Kind == program.ModuleClass
			}
		}
	}
	return nil
}

// frozen says whether torch.jit.freeze made the archive: it leaves one module with its weights
// among the constants, and drops the attributes nobody reads, with them training, which every other
// module declares.
func frozen(p *program.Program) bool {
	_, training := p.Root.Class.AttrIndex("training")
	if training || len(p.Modules) > 1 || len(p.States) == 0 {
		return false
	}
	for _, s := range p.States {
		if !s.OfCode {
			return false
		}
	}
	return true
}
