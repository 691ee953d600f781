package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// recordEvent is an event as a measurement record writes it: its operator and stack beside it.
type recordEvent struct {
	Action string      `json:"action"`
	Key    uint64      `json:"key"`
	Size   units.Bytes `json:"size"`
	Stream uint64      `json:"stream,omitempty"`
	Op     string      `json:"op,omitempty"`
	Stack  *int        `json:"stack,omitempty"`
}

// A recordReader reads a measurement record, key by key: its lists are long.
type recordReader struct {
	d       *json.Decoder
	most    limits
	r       *Recording
	seen    map[string]bool
	header  bytes.Buffer // the keys of the header, an object again
	sites   map[Site]int
	actions map[string]trace.Action
	inAll   int // frame numbers in all stacks
}

// decodeRecord reads a measurement record: one object, and nothing after it.
func decodeRecord(from io.Reader, most limits) (*Recording, error) {
	j := &recordReader{d: json.NewDecoder(atMost(most.text, from)), most: most, r: &Recording{}, seen: map[string]bool{},
		sites: map[Site]int{}, actions: actionWords()}
	j.d.DisallowUnknownFields()
	if t, err := j.d.Token(); err != nil {
		return nil, errNoRecord(err)
	} else if t != json.Delim('{') {
		return nil, errNoRecord(fmt.Errorf("got %v, want an object", t))
	}
	for j.d.More() {
		if err := j.key(); err != nil {
			return nil, err
		}
	}
	if _, err := j.d.Token(); err != nil {
		return nil, errNoRecord(err)
	}
	if _, err := j.d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("got something after the record")
	}
	if j.header.Len() == 0 {
		j.header.WriteByte('{')
	}
	j.header.WriteByte('}')
	return j.r, decodeHeader(j.header.Bytes(), &j.r.Header)
}

// actionWords are the actions that the allocator records, by PyTorch's words.
func actionWords() map[string]trace.Action {
	words := map[string]trace.Action{}
	for a := trace.Alloc; a <= trace.Mark; a++ {
		if recorded(a) {
			words[a.String()] = a
		}
	}
	return words
}

func (j *recordReader) key() error {
	t, err := j.d.Token()
	if err != nil {
		return errNoRecord(err)
	}
	key := t.(string) // else Token is an error
	if j.seen[key] {
		return fmt.Errorf("got %q twice", key)
	}
	j.seen[key] = true
	switch key {
	case "events":
		return j.list("event", j.most.events, j.event)
	case "stacks":
		return j.list("stack", j.most.stacks, j.stack)
	case "frames":
		return j.list("frame", j.most.frames, j.frame)
	}
	var value json.RawMessage
	if err := j.d.Decode(&value); err != nil {
		return errNoRecord(err)
	}
	if j.header.Len()+len(value) > j.most.header {
		return fmt.Errorf("%s: got more than %d bytes", key, j.most.header)
	}
	name, _ := json.Marshal(key) // a text always has one
	before := byte(',')
	if j.header.Len() == 0 {
		before = '{'
	}
	j.header.WriteByte(before)
	j.header.Write(name)
	j.header.WriteByte(':')
	j.header.Write(value)
	return nil
}

// list reads a list member by member.
func (j *recordReader) list(what string, most int, member func() error) error {
	t, err := j.d.Token()
	if err != nil {
		return errNoRecord(err)
	}
	if t != json.Delim('[') {
		return fmt.Errorf("got %v, want a list of %ss", t, what)
	}
	for n := 0; j.d.More(); n++ {
		if n == most {
			return fmt.Errorf("got more than %d %ss", most, what)
		}
		if err := member(); err != nil {
			return fmt.Errorf("%s %d: %w", what, n, err)
		}
	}
	if _, err := j.d.Token(); err != nil {
		return errNoRecord(err)
	}
	return nil
}

func (j *recordReader) event() error {
	var e recordEvent
	if err := j.d.Decode(&e); err != nil {
		return err
	}
	action, known := j.actions[e.Action]
	if !known {
		return fmt.Errorf("got action %q, want PyTorch's word for one", e.Action)
	}
	site := Site{Op: e.Op}
	if state, is := tensor.ParseCategory(e.Op); is { // of loaded state the operator is what it is
		site.Category = state
	}
	if e.Stack != nil {
		if *e.Stack < 0 || *e.Stack >= j.most.stacks {
			return fmt.Errorf("got stack %d, want 0 to %d", *e.Stack, j.most.stacks-1)
		}
		site.Stack = *e.Stack + 1
	}
	j.r.Events = append(j.r.Events, Event{Action: action, Key: e.Key, Size: e.Size, Stream: e.Stream, Site: j.site(site)})
	return nil
}

// site is a place's number, 0 where nothing is known of it.
func (j *recordReader) site(s Site) int {
	if s == (Site{}) {
		return 0
	}
	n, known := j.sites[s]
	if !known {
		j.r.Sites = append(j.r.Sites, s)
		n = len(j.r.Sites)
		j.sites[s] = n
	}
	return n
}

func (j *recordReader) stack() error {
	var s []int
	if err := j.d.Decode(&s); err != nil {
		return err
	}
	if j.inAll += len(s); j.inAll > j.most.inStacks {
		return fmt.Errorf("got more than %d frames in all stacks", j.most.inStacks)
	}
	j.r.Stacks = append(j.r.Stacks, s)
	return nil
}

func (j *recordReader) frame() error {
	var f Frame
	if err := j.d.Decode(&f); err != nil {
		return err
	}
	j.r.Frames = append(j.r.Frames, f)
	return nil
}

// MarshalJSON writes a measurement record. Modules and categories have no place in one: Encode
// keeps them.
func (r *Recording) MarshalJSON() ([]byte, error) {
	out := struct {
		Header
		Events []recordEvent `json:"events"`
		Stacks [][]int       `json:"stacks"`
		Frames []Frame       `json:"frames"`
	}{r.Header.listed(), make([]recordEvent, len(r.Events)), orEmpty(r.Stacks), orEmpty(r.Frames)}
	for i := range r.Events {
		e := &r.Events[i]
		out.Events[i] = recordEvent{Action: e.Action.String(), Key: e.Key, Size: e.Size, Stream: e.Stream}
		if e.Site > 0 {
			s := &r.Sites[e.Site-1]
			out.Events[i].Op = s.Op
			if s.Stack > 0 {
				stack := s.Stack - 1
				out.Events[i].Stack = &stack
			}
		}
	}
	return json.Marshal(out)
}

// listed is the header as it is written: JSON never says null where it means none.
func (h Header) listed() Header {
	if h.Schema == 0 {
		h.Schema = Schema
	}
	h.Inputs, h.Passes = orEmpty(h.Inputs), orEmpty(h.Passes)
	if h.Values != nil && h.Values.Lines == nil {
		values := *h.Values
		values.Lines = []ValueLine{}
		h.Values = &values
	}
	if h.Made != nil && h.Made.Files == nil {
		made := *h.Made
		made.Files = []File{}
		h.Made = &made
	}
	return h
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
