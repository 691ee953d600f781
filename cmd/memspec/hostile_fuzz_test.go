//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A fuzzedKind is a kind of file that commands open: how bytes become one, and the command.
type fuzzedKind struct {
	name string // of the file
	args []string
	file func(data []byte) []byte // nil: the bytes are the file
}

// fuzzedKinds are the kinds by number. The order is part of what a fuzzer has found: add at the
// end.
func fuzzedKinds(t testing.TB) []fuzzedKind {
	script, program := newArchiver(t), archiverOf(t, "exported", "half.pt2")
	record := func(a *archiver, name string) func(data []byte) []byte {
		// Not compressed: the limit on the ratio is not what is tried.
		return func(data []byte) []byte { return a.packed(map[string][]byte{name: data}, zip.Store) }
	}
	text := func(data []byte) []byte { return gzipped(string(data)) }
	return []fuzzedKind{
		{"m.pt", estimateX, nil},
		{"m.pt", estimateX, record(script, script.code)},
		{"m.pt", estimateX, record(script, script.record("data.pkl"))},
		{"m.pt", estimateX, record(script, script.record("constants.pkl"))},
		{"m.pt2", estimateHalf, record(program, program.record("models/model.json"))},
		{"m.pt2", estimateHalf, record(program, program.record("data/weights/model_weights_config.json"))},
		{"m.pickle", []string{"replay"}, nil},
		{"m.rec", []string{"replay"}, text},
		{"memspec.yaml", []string{"check"}, nil},
		{"m.json", []string{"diff", "m.json"}, nil},
		{"m.pt", []string{"strip", "-o", "out.pt"}, nil},
	}
}

// mostFuzzed is how long a file is made before it is packed, in bytes: some tenths of a second's,
// because Go ends a fuzz target that takes 10 s of a busy machine. TestHostileFiles has long ones.
const mostFuzzed = 4 << 20

// FuzzCommand runs a whole command on a file of any kind: it ends with an exit code, without a
// panic, within the memory that SECURITY.md promises. The file is head, part so many times over,
// and tail, so that a few bytes reach the budgets.
func FuzzCommand(f *testing.F) {
	if testing.Short() {
		f.Skip("files that reach the budgets")
	}
	kinds := fuzzedKinds(f)
	script, program := newArchiver(f), archiverOf(f, "exported", "half.pt2")
	forward := scriptHead + "  def forward(self: __torch__.addmm.Model,\n    x: Tensor) -> Tensor:\n"
	model := string(program.records[program.record("models/model.json")])
	split := func(text, at string) (string, string) {
		before, after, ok := strings.Cut(text, at)
		require.True(f, ok, at)
		return before + at, after
	}
	nodes, afterNodes := split(model, `"nodes": [`)
	ints, afterInts := split(model, `"as_ints": [`)
	code, data := script.records[script.code], script.records[script.record("data.pkl")]
	rec, snapshot := recOf("events", 4, "[0,1048576,512]"), stackPickle("N", 3, 0)
	for _, s := range []struct {
		kind             byte
		head, part, tail string
		times            uint32
	}{
		{0, string(script.with(nil)), "", "", 0},
		{1, string(code), "", "", 0},
		{1, forward + "    l = [", "0,", "0]\n    return x\n", 1 << 17},
		{1, forward, "    y = torch.relu(x)\n", "    return x\n", 1000},
		{1, forward + "    l = [x]\n    for i in range(50000):\n", "      _0 = torch.append(l, x)\n", "    return x\n", 1},
		{1, forward + "    s = \"", "ab", "\"\n    for i in range(50000):\n      t = torch.add(s, s)\n    return x\n",
			1 << 18},
		{2, string(data), "", "", 0},
		{2, "\x80\x02(", "]", "l.", 1 << 17},
		{2, "\x80\x02", "]", ".", 60000},
		{3, string(script.records[script.record("constants.pkl")]), "", "", 0},
		{3, "\x80\x02(", "N", "t.", 1 << 17},
		{4, model, "", "", 0},
		{4, nodes, "{},", afterNodes, 1 << 17},
		{4, ints, "1,", afterInts, 1 << 17},
		{5, `{"config": {`, `"a":{},`, `"b":{}}}`, 1 << 17},
		{6, string(snapshot), "", "", 0},
		{6, "\x80\x02(", "N", "l.", 1 << 17},
		{7, rec, "", "", 0},
		{7, recOf("events", 1<<14, "[0,1048576,512]"), "", "", 0},
		{8, "version: 1\nmodels: {m: {artifact: m.pt, device: t4, budget: {allocated: 1GiB}}}\n", "", "", 0},
		{8, "version: 1\nmodels:\n", "  ? a\n", "  : {}\n", 20000},
		{8, "version: 1\nmodels: {m: {dims: {n: [", "1,", "1]}}}\n", 50000},
		{9, `{"schema":1,"exit":0,"cases":[{}`, ",{}", "]}", 1 << 17},
		{10, string(script.with(nil)), "", "", 0},
	} {
		if s.times <= 1000 || os.Getenv("MEMSPEC_WHOLE") != "" {
			f.Add(s.kind, []byte(s.head), []byte(s.part), s.times, []byte(s.tail))
		}
	}
	debug.FreeOSMemory() // what other tests left
	f.Fuzz(func(t *testing.T, kind byte, head, part []byte, times uint32, tail []byte) {
		if int(kind) >= len(kinds) || len(head)+len(tail) > mostFuzzed {
			return
		}
		if len(part) > 0 {
			times = min(times, uint32((mostFuzzed-len(head)-len(tail))/len(part)))
			head = append(append([]byte(nil), head...), bytes.Repeat(part, int(times))...)
		}
		k := kinds[kind]
		data := append(head[:len(head):len(head)], tail...)
		if k.file != nil {
			data = k.file(data)
		}
		t.Chdir(t.TempDir())
		require.NoError(t, os.WriteFile(k.name, data, 0o600))
		hang := time.AfterFunc(hangTime, func() { panic("the command does not end: " + strings.Join(k.args, " ")) })
		defer hang.Stop()
		var out bytes.Buffer
		r := inCommand(t, append(k.args[:len(k.args):len(k.args)], k.name), limitWriter{&out})
		r.out = out.String()
		r.within(t, filepath.Base(k.name))
	})
}

// limitWriter keeps the first MiB.
type limitWriter struct{ to *bytes.Buffer }

func (l limitWriter) Write(b []byte) (int, error) {
	_, err := io.Copy(l.to, io.LimitReader(bytes.NewReader(b), int64(max(0, 1<<20-l.to.Len()))))
	return len(b), err
}
