package suite

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
)

// BaselineSchema numbers the form of a baseline.
const BaselineSchema = 1

// maxBaseline bounds the file: ten thousand cases of a hundred places are 100 MB.
const maxBaseline = 256 << 20

// A Baseline is the accounts of cases as they were, to be committed: later runs are distinguished
// from them.
type Baseline struct {
	Cases []BaselineCase // by name
}

// BaselineCase is what a case took: its run, its metrics, and who held the peak, without source
// lines, which every edit moves.
type BaselineCase struct {
	Name string `json:"name"`
	report.Run
	Quality   report.Quality   `json:"quality"`
	Weights   *units.Bytes     `json:"weights"`
	Delta     units.Bytes      `json:"delta"`
	Allocated units.Bytes      `json:"allocated"`
	Reserved  units.Bytes      `json:"reserved"`
	Total     *units.Bytes     `json:"total"`
	Upper     *report.Upper    `json:"upper,omitempty"`   // of an estimate: its upper figures
	Serving   *report.Serving  `json:"serving,omitempty"` // of an engine: its figures, in the place of the others
	PeakAt    *BaselineSite    `json:"peak_at"`
	Holders   []BaselineHolder `json:"holders"`
}

// BaselineSite is an operator of a module.
type BaselineSite struct {
	Op     string `json:"op"`
	Module string `json:"module"`
}

// BaselineHolder is what an operator of a module held of one category at the allocated peak.
type BaselineHolder struct {
	BaselineSite
	Category string      `json:"category"`
	Flat     units.Bytes `json:"flat"`
	Count    int         `json:"count"`
}

// BaselineOf is the entry of a case that ran.
func BaselineOf(name string, r *report.Report) BaselineCase {
	c := BaselineCase{Name: name, Run: r.Run, Quality: r.Quality, Delta: r.Delta, Allocated: r.Peak.Allocated,
		Reserved: r.Peak.Reserved, Total: r.Peak.Total, Upper: r.Upper, Serving: r.Serving, Holders: []BaselineHolder{}}
	if w, ok := r.Value(report.Weights); ok {
		c.Weights = &w
	}
	if r.PeakAt != nil {
		c.PeakAt = &BaselineSite{r.PeakAt.Op, r.PeakAt.Module}
	}
	at := map[BaselineHolder]int{}
	for _, h := range r.Holders {
		key := BaselineHolder{BaselineSite: BaselineSite{h.Op, h.Module}, Category: h.Category}
		i, ok := at[key]
		if !ok {
			i = len(c.Holders)
			at[key] = i
			c.Holders = append(c.Holders, key)
		}
		c.Holders[i].Flat += h.Flat
		c.Holders[i].Count += h.Count
	}
	slices.SortFunc(c.Holders, func(a, b BaselineHolder) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Category, b.Category))
	})
	return c
}

// Report is the entry as an account, with what an entry has.
func (c *BaselineCase) Report() *report.Report {
	r := &report.Report{Schema: report.Schema, Run: c.Run, Quality: c.Quality, Delta: c.Delta, Upper: c.Upper,
		Serving: c.Serving, Baseline: report.Sizes{Allocated: max(c.Allocated-c.Delta, 0)},
		Peak: report.Peak{Allocated: c.Allocated, Reserved: c.Reserved, Total: c.Total}}
	if c.Weights != nil {
		r.Weights = *c.Weights
	} else {
		r.Unknown = []report.Metric{report.Weights}
	}
	if c.PeakAt != nil {
		r.PeakAt = &report.Moment{Site: report.Site{Op: c.PeakAt.Op, Module: c.PeakAt.Module}}
	}
	for _, h := range c.Holders {
		r.Holders = append(r.Holders, report.Holder{Site: report.Site{Op: h.Op, Module: h.Module}, Category: h.Category,
			Flat: h.Flat, Count: h.Count})
	}
	return r
}

// Write writes a baseline: sorted by name, one case a line, so that it merges and compares as text.
func (b *Baseline) Write(w io.Writer) error {
	slices.SortFunc(b.Cases, func(a, c BaselineCase) int { return cmp.Compare(a.Name, c.Name) })
	var out strings.Builder
	fmt.Fprintf(&out, "{\"schema\": %d, \"cases\": [", BaselineSchema)
	for i := range b.Cases {
		line, err := json.Marshal(&b.Cases[i])
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		out.Write(line)
	}
	out.WriteString("\n]}\n")
	_, err := io.WriteString(w, out.String())
	return err
}

// ReadBaseline reads the file that memspec baseline wrote.
func ReadBaseline(path string) (*Baseline, error) {
	f, _, err := regular.Open(path)
	if err != nil {
		return nil, regular.Plain(err)
	}
	defer f.Close()
	return readBaseline(f, path, maxBaseline)
}

// readBaseline reads one of at most so many bytes.
func readBaseline(r io.Reader, path string, most int64) (*Baseline, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, regular.Plain(err)
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s: got a baseline of more than %d bytes", path, most)
	}
	if err := regular.CheckJSON(data, holderText); err != nil {
		return nil, fmt.Errorf("%s: not a baseline: %w", path, err)
	}
	var file struct {
		Schema *int          `json:"schema"`
		Cases  baselineCases `json:"cases"`
	}
	switch err := json.Unmarshal(data, &file); {
	case err != nil:
		return nil, fmt.Errorf("%s: not a baseline: %w", path, err)
	case file.Schema == nil:
		return nil, fmt.Errorf("%s: got a baseline without a schema, want %d", path, BaselineSchema)
	case *file.Schema != BaselineSchema:
		return nil, fmt.Errorf("%s: got a baseline of schema %d, want %d: memspec baseline writes it again", path,
			*file.Schema, BaselineSchema)
	}
	return &Baseline{file.Cases}, nil
}

// maxBaselineCases bounds them: memspec.yaml has at most a tenth.
const maxBaselineCases = 100_000

// holderText is the least text of a holder, of which a baseline has most.
const holderText = 64

// baselineCases are read one by one: a case takes a hundred times its least text.
type baselineCases []BaselineCase

func (b *baselineCases) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	switch first, err := d.Token(); {
	case err != nil || first == nil: // null is no case
		return err
	case first != json.Delim('['):
		return errors.New("cases: got no list, want a list of cases")
	}
	for d.More() {
		var c BaselineCase
		if err := d.Decode(&c); err != nil {
			return err
		}
		if c.Name == "" {
			return fmt.Errorf("cases[%d]: got no name", len(*b))
		}
		if len(*b) == maxBaselineCases {
			return fmt.Errorf("got more than %d cases", maxBaselineCases)
		}
		*b = append(*b, c)
	}
	return nil
}

// Report is the entry of a name as a report, nil where there is none.
func (b *Baseline) Report(name string) *report.Report {
	if entry := b.Case(name); entry != nil {
		return entry.Report()
	}
	return nil
}

// Case is the entry of a name, nil where there is none.
func (b *Baseline) Case(name string) *BaselineCase {
	i, ok := slices.BinarySearchFunc(b.Cases, name,
		func(c BaselineCase, name string) int { return cmp.Compare(c.Name, name) })
	if ok {
		return &b.Cases[i]
	}
	if i := slices.IndexFunc(b.Cases, func(c BaselineCase) bool { return c.Name == name }); i >= 0 { // merged by hand
		return &b.Cases[i]
	}
	return nil
}
