package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sync"

	"github.com/memspec/memspec/engine/regular"
)

// file is the JSON form.
type file struct {
	Schema int     `json:"schema"`
	Groups []Group `json:"groups"`
}

// Load reads a profile from a file.
func Load(path string) (*Profile, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	p, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// read is the bytes of a plain file, of one too many at the most; a pipe or a device is not opened.
func read(path string) ([]byte, error) {
	f, _, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

// Parse reads a profile. Unknown keys, another schema and contradicting entries are errors.
func Parse(data []byte) (*Profile, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("got a workspace profile of %d bytes, want at most %d", len(data), maxBytes)
	}
	f, ok := scan(data)
	if !ok || f.Schema != Schema {
		var err error
		if f, err = decode(data); err != nil {
			return nil, err
		}
	}
	p := &Profile{}
	var errs []error
	for i, g := range f.Groups {
		for j, e := range g.Entries {
			if err := p.Add(g.Answerer, e); err != nil {
				errs = append(errs, fmt.Errorf("groups[%d].entries[%d]: %w", i, j, err))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p, nil
}

// decode reads any profile, and says what is wrong with one.
func decode(data []byte) (f file, err error) {
	var head struct {
		Schema *int `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return f, fmt.Errorf("not a workspace profile: %w", err)
	}
	if head.Schema == nil {
		return f, fmt.Errorf("got a workspace profile without a schema, want %d", Schema)
	}
	if *head.Schema != Schema {
		return f, fmt.Errorf("got a workspace profile of schema %d, want %d: make it again with this version",
			*head.Schema, Schema)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return f, fmt.Errorf("not a workspace profile: %w", err)
	}
	return f, nil
}

// WriteTo writes the profile, one entry a line, sorted.
func (p *Profile) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"schema\": %d, \"groups\": [", Schema)
	for i, g := range p.Groups() {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n{\"library\": %q, \"version\": %q, \"class\": %q, \"entries\": [", g.Library, g.Version,
			g.Class)
		for j, e := range g.Entries {
			line, err := json.Marshal(e)
			if err != nil {
				return 0, err
			}
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString("\n" + string(line))
		}
		b.WriteString("\n]}")
	}
	b.WriteString("\n]}\n")
	return b.WriteTo(w)
}

var answerer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z][a-z0-9]* [0-9]+(\.[0-9]+){1,3} sm[0-9]+(-[a-z]+)?$`)
})

// check says what cannot be about an answerer.
func (by *Answerer) check() error {
	if !answerer().MatchString(by.Library + " " + by.Version + " " + by.Class) {
		return fmt.Errorf("got answerer %q %q %q, want one such as cudnn 9.10.2 sm89", by.Library, by.Version, by.Class)
	}
	return nil
}

// check says what cannot be about an entry.
func (e *Entry) check() error {
	switch {
	case e.Bytes < 0:
		return fmt.Errorf("got %d B, want 0 or more", int64(e.Bytes))
	case e.Most != 0 && e.Most < e.Bytes:
		return fmt.Errorf("got %d B at the most, want at least the %d B of the first choice", int64(e.Most),
			int64(e.Bytes))
	}
	return e.Call.Check()
}

// Check says what cannot be about a call.
func (c *Call) Check() error {
	rank := len(c.Input)
	switch {
	case c.Op != "conv":
		return fmt.Errorf("got op %q, want conv", c.Op)
	case !slices.Contains([]string{"forward", "dgrad", "wgrad"}, c.Direction):
		return fmt.Errorf("got direction %q, want forward, dgrad or wgrad", c.Direction)
	case c.DType == "":
		return errors.New("got no dtype, want PyTorch's name of one")
	case rank < 3 || rank > 5:
		return fmt.Errorf("got an input of %d sizes, want 3 to 5", rank)
	case len(c.InputStrides) != rank || len(c.Weight) != rank || len(c.WeightStrides) != rank:
		return fmt.Errorf("got input_strides, weight and weight_strides of %d, %d and %d numbers, want %d each",
			len(c.InputStrides), len(c.Weight), len(c.WeightStrides), rank)
	case len(c.Padding) != rank-2 || len(c.Stride) != rank-2 || len(c.Dilation) != rank-2:
		return fmt.Errorf("got padding, stride and dilation of %d, %d and %d numbers, want %d each", len(c.Padding),
			len(c.Stride), len(c.Dilation), rank-2)
	case c.Groups < 1:
		return fmt.Errorf("got groups %d, want 1 or more", c.Groups)
	}
	return nil
}
