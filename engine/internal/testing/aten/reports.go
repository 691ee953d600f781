package aten

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// What the engine reports of recorded calls where PyTorch has no answer to compare with: golden
// files beside the family's tests, which MEMSPEC_UPDATE=1 writes.

// reports are texts by call.
type reports map[string]string

// add notes what is reported of a call; of one that is met again the first holds.
func (r reports) add(name, text string) {
	if text != "" && r[name] == "" {
		r[name] = strings.ReplaceAll(text, "\n", " ")
	}
}

// compare compares with a golden file, lines "call call | text", headed by what it has.
func (r reports) compare(t *testing.T, path, head string) {
	t.Helper()
	if golden.Updating() {
		writeMessages(t, path, head, r)
	}
	if diff := cmp.Diff(messages(t, path), map[string]string(r)); diff != "" {
		t.Errorf("%s (-want +got):\n%s%s", path, diff, again(t))
	}
}

// blocks are texts of several lines by call.
type blocks map[string][]string

// compare compares with a golden file, blocks headed by a call. A share of the calls may be left
// out.
func (b blocks) compare(t *testing.T, path, head string) {
	t.Helper()
	if golden.Updating() {
		var out strings.Builder
		out.WriteString("# " + head + " writes it.\n")
		for _, name := range sortedCalls(b) {
			out.WriteString("\n" + name + "\n" + strings.Join(b[name], "\n") + "\n")
		}
		golden.Write(t, path, []byte(out.String()))
	}
	want := blocks{}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(data), "\n\n")
	for block := range strings.SplitSeq(strings.TrimSpace(rest), "\n\n") {
		lines := strings.Split(block, "\n")
		want[lines[0]] = lines[1:]
	}
	for name, got := range b {
		if diff := cmp.Diff(want[name], got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s%s", path, name, diff, again(t))
		}
	}
	if golden.Whole() {
		assert.Len(t, b, len(want), "calls in %s", path)
	}
}

// outcomes are what a call's changes lead to: the changes that lead to the same stand on one line.
type outcomes struct {
	texts   []string
	changes map[string][]string // by text
}

func (o *outcomes) add(change, text string) {
	if o.changes == nil {
		o.changes = map[string][]string{}
	}
	text = strings.ReplaceAll(text, "\n", " ")
	if o.changes[text] == nil {
		o.texts = append(o.texts, text)
	}
	o.changes[text] = append(o.changes[text], change)
}

func (o *outcomes) lines() (out []string) {
	for _, text := range o.texts {
		out = append(out, strings.Join(o.changes[text], " ")+" | "+text)
	}
	return out
}

// accepted writes what a call gave, in one line: its results, and births and deaths where a storage
// dies.
func accepted(result any, events []trace.Event, name func(tensor.StorageID) string) string {
	out := "= " + short(result, name)
	if slices.ContainsFunc(events, func(e trace.Event) bool { return e.Action != trace.Alloc }) {
		out += "; " + recordedText(events)
	}
	return out
}

// recordedText writes births and deaths as a device's table does: see deviceTable.
func recordedText(events []trace.Event) string {
	births, out := map[tensor.StorageID]int{}, make([]string, len(events))
	for i, e := range events {
		n, born := births[e.Storage]
		switch {
		case e.Action == trace.Alloc:
			births[e.Storage] = len(births)
			out[i] = fmt.Sprintf("+%d", e.Bytes)
		case born:
			out[i] = fmt.Sprintf("-%d", n)
		default:
			out[i] = "-x"
		}
	}
	return strings.Join(out, " ")
}

// short writes a value: of a tensor dtype and sizes, and what is not usual of strides, offset,
// device and storage.
func short(v any, name func(tensor.StorageID) string) string {
	join := func(items []any) string {
		parts := make([]string, len(items))
		for i, item := range items {
			parts[i] = short(item, name)
		}
		return "(" + strings.Join(parts, ", ") + ")"
	}
	switch v := v.(type) {
	case *tensor.Tensor:
		out := fmt.Sprintf("%s%v", v.DType, v.Sizes)
		if !slices.Equal(v.Strides, tensor.ContiguousStrides(v.Sizes)) {
			out += fmt.Sprintf(" by %v", v.Strides)
		}
		if v.StorageOffset != 0 {
			out += fmt.Sprintf(" at %d", v.StorageOffset)
		}
		if v.Device != "cuda" {
			return out + " on " + v.Device
		}
		if n := name(v.Storage.ID); n[0] == 's' {
			out += " of " + n
		}
		return out
	case *ops.List:
		return join(v.Items)
	case *ops.Tuple:
		return join(v.Items)
	case *ops.Dict:
		return join(v.Keys) + ": " + join(v.Values)
	case *ops.Packed:
		return v.Class
	case float64:
		return describeFloat(v)
	}
	return fmt.Sprint(v)
}

// notesOf lists what was assumed.
func notesOf(b *Bench) string {
	var out strings.Builder
	for _, n := range b.Notes() {
		fmt.Fprintf(&out, "; %s", n.ID)
		if n.Subject != "" {
			out.WriteString(" " + n.Subject)
		}
		if n.Askable {
			out.WriteString(", askable")
		}
		if n.Undecided {
			out.WriteString(", undecided")
		}
	}
	return out.String()
}

// sortedCalls are the names of calls as they lie in their files.
func sortedCalls[V any](m map[string]V) []string { return slices.SortedFunc(maps.Keys(m), byNumber) }

// byNumber sorts calls of an operator as they lie in their file.
func byNumber(a, b string) int {
	opA, numberA, _ := strings.Cut(a, "/")
	opB, numberB, _ := strings.Cut(b, "/")
	switch {
	case opA != opB:
		return strings.Compare(opA, opB)
	case len(numberA) != len(numberB):
		return len(numberA) - len(numberB)
	}
	return strings.Compare(numberA, numberB)
}

// messages reads lines "aten::mm/12 aten::mm/13 | what is said"; the file may be missing.
func messages(t *testing.T, path string) map[string]string {
	t.Helper()
	out := map[string]string{}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return out
	}
	for _, l := range lines(t, path) {
		names, text, ok := strings.Cut(l, " | ")
		require.True(t, ok, l)
		for name := range strings.FieldsSeq(names) {
			out[name] = text
		}
	}
	return out
}

// writeMessages writes what messages reads.
func writeMessages(t *testing.T, path, head string, got map[string]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# " + head + " writes it.\n\n")
	calls, order := map[string][]string{}, []string(nil) // by what is said
	for _, name := range sortedCalls(got) {
		text := got[name]
		if calls[text] == nil {
			order = append(order, text)
		}
		calls[text] = append(calls[text], name)
	}
	for _, text := range order {
		b.WriteString(strings.Join(calls[text], " ") + " | " + text + "\n")
	}
	golden.Write(t, path, []byte(b.String()))
}
