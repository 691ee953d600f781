package recording

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/memspec/memspec/engine/internal/jsonscan"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// RecVersion numbers the form of a .rec.
const RecVersion = 1

// recHead is the first line of a .rec. The lines that follow are as many as it says, in the order
// of its fields.
type recHead struct {
	Rec     int             `json:"rec"`     // RecVersion
	Record  json.RawMessage `json:"record"`  // Header
	Actions []string        `json:"actions"` // the words that events name by number
	Frames  int             `json:"frames"`  // ["file", line, "function"]
	Stacks  int             `json:"stacks"`  // [frame, …] of the frames above, counted from 0, innermost first
	// ["operator", "module", "category", stack] with the stack counted from 1, 0 for none
	Sites int `json:"sites"`
	// [action, key less the key before, size, site, stream] with the site counted from 1; zeros at the
	// end left out; then those of the runs of Values, in their order
	Events int `json:"events"`
}

// Encode writes a recording as a .rec: compressed lines of JSON. The same recording gives the same
// bytes.
func (r *Recording) Encode(w io.Writer) error {
	header, err := json.Marshal(r.Header.listed())
	if err != nil {
		return err
	}
	head := recHead{Rec: RecVersion, Record: header, Frames: len(r.Frames), Stacks: len(r.Stacks), Sites: len(r.Sites),
		Events: len(r.Events)}
	var number [trace.Mark + 1]int64
	for a := trace.Alloc; a <= trace.Mark; a++ {
		if recorded(a) {
			number[a] = int64(len(head.Actions))
			head.Actions = append(head.Actions, a.String())
		}
	}
	z, _ := gzip.NewWriterLevel(w, gzip.BestCompression) // which is a level
	b := bufio.NewWriter(z)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	err = e.Encode(head)
	for i := 0; i < len(r.Frames) && err == nil; i++ {
		f := &r.Frames[i]
		err = e.Encode([]any{f.File, f.Line, f.Function})
	}
	for i := 0; i < len(r.Stacks) && err == nil; i++ {
		err = e.Encode(orEmpty(r.Stacks[i]))
	}
	for i := 0; i < len(r.Sites) && err == nil; i++ {
		s := &r.Sites[i]
		row := []any{s.Op, s.Module, s.Category.String(), s.Stack}
		if s.Saver > 0 {
			row = append(row, s.Saver)
		}
		err = e.Encode(row)
	}
	if err != nil {
		return err
	}
	err = writeEvents(b, r.Events, 0, number[:])
	for i := 0; r.Values != nil && i < len(r.Values.Runs) && err == nil; i++ {
		run := &r.Values.Runs[i]
		var before uint64
		if run.Shared > 0 {
			before = r.Events[run.Shared-1].Key
		}
		err = writeEvents(b, run.Events, before, number[:])
	}
	return errors.Join(err, b.Flush(), z.Close())
}

// writeEvents writes a line for each event. before is the key of the event before the first; number
// has the actions' numbers.
func writeEvents(w io.Writer, events []Event, before uint64, number []int64) error {
	var line []byte
	for i := range events {
		e := &events[i]
		line = appendRow(line[:0], number[e.Action], int64(e.Key-before), int64(e.Size), int64(e.Site), int64(e.Stream))
		before = e.Key
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// appendRow writes numbers as a line, without the zeros behind the third.
func appendRow(line []byte, numbers ...int64) []byte {
	n := len(numbers)
	for n > 3 && numbers[n-1] == 0 {
		n--
	}
	for i, v := range numbers[:n] {
		line = append(line, "[,"[min(i, 1)])
		line = strconv.AppendInt(line, v, 10)
	}
	return append(line, "]\n"...)
}

// A recReader reads a .rec line by line.
type recReader struct {
	lines   *bufio.Reader
	most    limits
	long    []byte // of a line that the buffer does not hold
	r       *Recording
	actions []trace.Action
	key     uint64
	inAll   int
	texts   map[string]string // of frames and sites, each once
}

func decodeRec(from io.Reader, most limits) (*Recording, error) {
	z, err := gzip.NewReader(from)
	if err != nil {
		return nil, fmt.Errorf("got no recording: %w", err)
	}
	j := &recReader{lines: bufio.NewReaderSize(atMost(most.text, z), 64<<10), most: most, r: &Recording{},
		texts: map[string]string{}}
	head, err := j.head()
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		what string
		n    int
		most int
		read func(line []byte) error
	}{
		{"frame", head.Frames, most.frames, j.frame},
		{"stack", head.Stacks, most.stacks, j.stack},
		{"site", head.Sites, most.sites, j.site},
		{"event", head.Events, most.events, j.event},
	} {
		if part.n < 0 || part.n > part.most {
			return nil, fmt.Errorf("got %d %ss, want 0 to %d", part.n, part.what, part.most)
		}
		if err := j.part(part.what, part.n, part.read); err != nil {
			return nil, err
		}
	}
	if err := j.readValues(); err != nil {
		return nil, err
	}
	switch _, err := j.line(most.line); {
	case err == nil:
		return nil, errors.New("got something after the last event")
	case !errors.Is(err, errEnd):
		return nil, err
	}
	return j.r, nil
}

// part reads so many lines of a kind.
func (j *recReader) part(what string, n int, read func(line []byte) error) error {
	for i := range n {
		line, err := j.line(j.most.line)
		if err == nil {
			err = read(line)
		}
		if err != nil {
			return fmt.Errorf("%s %d: %w", what, i, err)
		}
	}
	return nil
}

// errEnd is where a line was wanted and there is none.
var errEnd = errors.New("got the end of the file, want a line")

// line is the next line without its end. A last line without an end is none: the file was cut.
func (j *recReader) line(most int) ([]byte, error) {
	j.long = j.long[:0]
	for {
		part, err := j.lines.ReadSlice('\n')
		if len(j.long)+len(part) > most {
			return nil, fmt.Errorf("got a line of more than %d bytes", most)
		}
		switch {
		case err == nil && len(j.long) == 0:
			return part[:len(part)-1], nil
		case err == nil:
			j.long = append(j.long, part[:len(part)-1]...)
			return j.long, nil
		case errors.Is(err, bufio.ErrBufferFull):
			j.long = append(j.long, part...)
		case errors.Is(err, io.EOF) && len(j.long)+len(part) == 0:
			return nil, errEnd
		case errors.Is(err, io.EOF):
			return nil, errors.New("got a line without an end")
		default:
			return nil, err
		}
	}
}

func (j *recReader) head() (*recHead, error) {
	line, err := j.line(j.most.header)
	if err != nil {
		return nil, fmt.Errorf("got no recording: %w", err)
	}
	h := &recHead{}
	if err := json.Unmarshal(line, h); err != nil {
		return nil, fmt.Errorf("got no recording: %w", err)
	}
	if h.Rec != RecVersion {
		return nil, fmt.Errorf("got a recording of version %d, want %d", h.Rec, RecVersion)
	}
	for _, word := range h.Actions {
		a, known := trace.ParseAction(word)
		if !known || !recorded(a) {
			return nil, fmt.Errorf("got action %q, want PyTorch's word for one", word)
		}
		j.actions = append(j.actions, a)
	}
	return h, decodeHeader(h.Record, &j.r.Header)
}

// fields reads a line that is a list of strings and whole numbers: as many as there are places for
// them, of which all after the least may be absent.
func (j *recReader) fields(line []byte, least int, into ...any) error {
	if !utf8.Valid(line) {
		return errors.New("got a line that is no UTF-8")
	}
	s, n := jsonscan.New(line), 0
	s.Array(func() {
		if n++; n > len(into) {
			s.Skip()
			return
		}
		switch to := into[n-1].(type) {
		case *string:
			*to = j.once(s.String())
		case *int:
			*to = int(s.Int())
		}
	})
	s.End()
	switch {
	case s.Err() != nil:
		return s.Err()
	case n < least || n > len(into):
		return fmt.Errorf("got %d values, want %d", n, least)
	}
	return nil
}

// once keeps a text once, however often it comes: the line that it is a part of is overwritten.
func (j *recReader) once(text string) string {
	kept, known := j.texts[text]
	if !known {
		kept = strings.Clone(text)
		j.texts[kept] = kept
	}
	return kept
}

func (j *recReader) frame(line []byte) error {
	var f Frame
	err := j.fields(line, 3, &f.File, &f.Line, &f.Function)
	j.r.Frames = append(j.r.Frames, f)
	return err
}

func (j *recReader) stack(line []byte) error {
	var s []int
	if err := json.Unmarshal(line, &s); err != nil {
		return err
	}
	if j.inAll += len(s); j.inAll > j.most.inStacks {
		return fmt.Errorf("got more than %d frames in all stacks", j.most.inStacks)
	}
	j.r.Stacks = append(j.r.Stacks, s)
	return nil
}

func (j *recReader) site(line []byte) error {
	var s Site
	var category string
	if err := j.fields(line, 4, &s.Op, &s.Module, &category, &s.Stack, &s.Saver); err != nil {
		return err
	}
	var known bool
	if s.Category, known = tensor.ParseCategory(category); !known {
		return fmt.Errorf("got category %q", category)
	}
	j.r.Sites = append(j.r.Sites, s)
	return nil
}

var errEvent = errors.New("got no event, want [action, key, size, site, stream] in whole numbers")

// event reads a line of three to five whole numbers: most of a .rec is such lines.
func (j *recReader) event(line []byte) error {
	var numbers [5]int64
	n := 0
	for len(line) > 1 && line[0] == "[,"[min(n, 1)] && n < len(numbers) {
		end := 1
		for end < len(line) && line[end] != ',' && line[end] != ']' {
			end++
		}
		v, err := strconv.ParseInt(string(line[1:end]), 10, 64)
		if err != nil {
			return errEvent
		}
		numbers[n] = v
		n++
		line = line[end:]
	}
	if n < 3 || string(line) != "]" {
		return errEvent
	}
	action, site, stream := numbers[0], numbers[3], numbers[4]
	if action < 0 || action >= int64(len(j.actions)) {
		return fmt.Errorf("got action %d of %d", action, len(j.actions))
	}
	if site < 0 || site > int64(j.most.sites) || stream < 0 {
		return fmt.Errorf("got site %d and stream %d", site, stream)
	}
	j.key += uint64(numbers[1])
	j.r.Events = append(j.r.Events, Event{Action: j.actions[action], Key: j.key, Size: units.Bytes(numbers[2]),
		Stream: uint64(stream), Site: int(site)})
	return nil
}
