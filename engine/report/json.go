package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/memspec/memspec/engine/regular"
)

// WriteJSON writes r as indented JSON; every size is an integer of bytes, empty lists are [].
func WriteJSON(w io.Writer, r *Report) error {
	c := *r
	c.Normalize()
	return EncodeJSON(w, &c)
}

// EncodeJSON writes any of the project's JSON values the way they are all written.
func EncodeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// maxJSON bounds an estimate: one of a million holders is no larger.
const maxJSON = 256 << 20

// holderText is the least text of an object in what WriteJSON wrote: a holder without a line.
const holderText = 128

// CheckJSON refuses a text with more objects than estimates of its size have.
func CheckJSON(data []byte) error { return regular.CheckJSON(data, holderText) }

// ReadJSON reads what WriteJSON wrote. Keys it does not know are left out.
func ReadJSON(rd io.Reader) (*Report, error) { return readJSON(rd, maxJSON) }

// readJSON reads one of at most so many bytes.
func readJSON(rd io.Reader, most int) (*Report, error) {
	data, err := io.ReadAll(io.LimitReader(rd, int64(most)+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > most:
		return nil, fmt.Errorf("got an estimate of more than %d bytes", most)
	}
	if err := CheckJSON(data); err != nil {
		return nil, fmt.Errorf("not an estimate: %w", err)
	}
	r := new(Report)
	read := struct {
		*Report
		Cases json.RawMessage `json:"cases"` // of a check
	}{Report: r}
	if err := json.Unmarshal(data, &read); err != nil {
		return nil, fmt.Errorf("not an estimate: %w", err)
	}
	switch {
	case r.Schema != Schema:
		return nil, fmt.Errorf("got estimate schema %d, want %d", r.Schema, Schema)
	case read.Cases != nil:
		return nil, errors.New("got the result of a check, want an estimate")
	case r.Artifact == "" || r.Device == "":
		return nil, errors.New("not an estimate: it has no artifact or no device")
	}
	r.Normalize()
	return r, nil
}

// Normalize makes nil lists empty, so that JSON never says null where it means none.
func (r *Report) Normalize() {
	if r.Inputs == nil {
		r.Inputs = []string{}
	}
	if s := r.Serving; s != nil && s.MadeUp == nil {
		s.MadeUp = []string{}
	}
	if s := r.Serving; s != nil && s.Defaults == nil {
		s.Defaults = []string{}
	}
	if r.Passes == nil {
		r.Passes = []Pass{}
	}
	if r.Coverage.Unsupported == nil {
		r.Coverage.Unsupported = []Unsupported{}
	}
	if r.Holders == nil {
		r.Holders = []Holder{}
	}
	if r.Notes == nil {
		r.Notes = []Note{}
	}
}
