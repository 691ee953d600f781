//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// estimateX is how a model that takes one matrix is given.
var estimateX = []string{"estimate", "--device", "t4", "--input", "float32[4,4]"}

// A hostileFile is a file that a command is given, and what lies beside it.
type hostileFile struct {
	name  string
	args  []string // the command, without the file
	data  func() []byte
	slow  bool // tried with MEMSPEC_WHOLE, and where all are
	holds bool // a legal file: exit code 0
}

// gzipped is a text, compressed as fast as can be: what a file takes to make is no part of a test.
func gzipped(text string) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.Bytes()
}

// noise cannot be compressed: it keeps a ratio below its limit.
func noise(n int) []byte {
	r := rand.NewChaCha8([32]byte{1})
	data := make([]byte, n)
	_, _ = r.Read(data)
	return data
}

// stackPickle pushes n values and uses none; tail keeps the ratio of a compressed record low.
func stackPickle(opcode string, n, tail int) []byte {
	b := append([]byte("\x80\x02"), bytes.Repeat([]byte(opcode), n)...)
	if tail > 0 {
		b = append(b, 'B')
		b = binary.LittleEndian.AppendUint32(b, uint32(tail))
		b = append(b, noise(tail)...)
	}
	return append(b, '.')
}

// costly are files that asked for more than a run may take.
func costly(a *archiver) []hostileFile {
	script := func(lines ...string) func() []byte { return func() []byte { return a.script(lines...) } }
	loop := func(begin string, body ...string) func() []byte {
		lines := strings.Split(begin, "\n")
		lines = append(lines, "for i in range(1000000):")
		for _, l := range body {
			lines = append(lines, "  "+l)
		}
		return script(append(lines, "return x")...)
	}
	text := `s = "` + strings.Repeat("a", 1000000) + `"`
	return []hostileFile{
		{name: "strings.pt", args: estimateX, data: loop(text+"\nl = [s]", `_0 = torch.append(l, torch.add(s, "b"))`)},
		{name: "lists.pt", slow: true, args: estimateX,
			data: loop("l = [[0]]", `_0 = torch.append(l, torch.mul([0], 4000000))`)},
		{name: "tuples.pt", slow: true, args: estimateX, data: loop("l = [(0, 0)]", `_0 = torch.append(l, (i, i))`)},
		{name: "dicts.pt", slow: true, args: estimateX,
			data: loop(`d = {"a": [0]}`, `_0 = torch._set_item(d, str(i), torch.mul([0], 1000000))`)},
		{name: "extend.pt", args: estimateX, data: loop("l = [0]", "torch.extend(l, l)")},
		{name: "copies.pt", slow: true, args: estimateX, data: loop("l = torch.mul([0], 1000000)\nk = [l]",
			"_0 = torch.append(k, torch.list(l))")},
		{name: "slices.pt", slow: true, args: estimateX, data: loop("l = torch.mul([0], 1000000)\nk = [l]",
			"_0 = torch.append(k, torch.slice(l, 0, 999999, 1))")},
		{name: "sorted.pt", slow: true, args: estimateX, data: loop("l = torch.mul([0], 4000000)", "torch.sort(l)")},
		{name: "equal.pt", slow: true, args: estimateX, data: loop("l = torch.mul([0], 4000000)", "b = torch.eq(l, l)")},
		{name: "find.pt", slow: true, args: estimateX, data: loop(text, `b = torch.find(s, "b", 0, -1)`)},
		{name: "split.pt", slow: true, args: estimateX, data: loop(text, `b = torch.split(s, "a", -1)`)},
		{name: "upper.pt", slow: true, args: estimateX, data: loop(text, `b = torch.upper(s)`)},
		{name: "replace.pt", slow: true, args: estimateX, data: loop(text, `b = torch.replace(s, "a", "bb", -1)`)},
		{name: "format.pt", slow: true, args: estimateX, data: loop(text, `b = torch.format("{}{}", s, s)`)},
		{name: "str.pt", slow: true, args: estimateX, data: loop("l = torch.mul([0], 1000000)", `b = torch.str(l)`)},
		{name: "cat.pt", slow: true, args: estimateX, data: loop("l = [x]", "_0 = torch.append(l, x)", "y = torch.cat(l)")},
		{name: "stack-of-tensors.pt", slow: true, args: estimateX, data: loop("l = [x]", "_0 = torch.append(l, x)",
			"y = torch.stack(l)")},
		{name: "zeros.pt", slow: true, args: estimateX, data: loop("l = torch.mul([1], 1000000)", "y = torch.zeros(l)")},
		{name: "view.pt", slow: true, args: estimateX, data: loop("l = torch.mul([1], 100000)", "y = torch.zeros(l)",
			"z = torch.expand(y, l)")},
		{name: "split-tensor.pt", slow: true, args: estimateX, data: loop("y = torch.zeros([100000])",
			"z = torch.split(y, 1, 0)")},
		{name: "unbind.pt", args: estimateX, data: loop("y = torch.zeros([4000000])", "z = torch.unbind(y)")},
		{name: "chunk.pt", args: estimateX, data: loop("y = torch.zeros([4000000])", "z = torch.chunk(y, 4000000)")},
		{name: "combinations.pt", args: estimateX, data: script("return torch.combinations(torch.zeros([100000]), 50000)")},
		{name: "product.pt", args: estimateX,
			data: script("return torch.cartesian_prod(torch.mul([torch.zeros([1])], 50000))")},
		{name: "meshgrid.pt", args: estimateX, data: script("y = torch.meshgrid(torch.mul([torch.zeros([1])], 50000))",
			"return x")},
		{name: "einsum.pt", slow: true, args: estimateX,
			data: script(`y = torch.einsum("`+strings.Repeat("a,", 50000)+`a->", torch.mul([torch.zeros([1])], 50001))`,
				"return x")},
		{name: "block.pt", slow: true, args: estimateX, data: loop("l = torch.mul([x], 10000)", "y = torch.block_diag(l)")},
		{name: "foreach.pt", slow: true, args: estimateX, data: loop("l = torch.mul([x], 10000)",
			"y = torch._foreach_add(l, 1.)")},
		{name: "endless.pt", slow: true, args: estimateX, data: script("l = [0]", "while True:", "  l0 = torch.append(l, 0)",
			"return x")},
		{name: "version.pt", slow: true, args: estimateX, data: func() []byte {
			return a.with(map[string][]byte{a.record("version"): append(bytes.Repeat([]byte{1}, 200<<20), noise(1<<20)...)})
		}},
		{name: "stack.pt", args: estimateX, data: func() []byte {
			return a.with(map[string][]byte{a.record("data.pkl"): stackPickle("N", 60<<20, 420000)})
		}},
		{name: "marks.pt", slow: true, args: estimateX, data: func() []byte {
			return a.with(map[string][]byte{a.record("data.pkl"): stackPickle("]", 60<<20, 420000)})
		}},
		{name: "stack.pickle", slow: true, args: []string{"replay"}, data: func() []byte {
			return stackPickle("N", 60<<20, 0)
		}},
		{name: "lists.pickle", slow: true, args: []string{"replay"}, data: func() []byte {
			return stackPickle("]", 60<<20, 0)
		}},
		{name: "dicts.pickle", slow: true, args: []string{"replay"}, data: func() []byte {
			return stackPickle("}", 60<<20, 0)
		}},
		{name: "marked-dicts.pickle", slow: true, args: []string{"replay"}, data: func() []byte {
			return append([]byte("\x80\x02("), bytes.Repeat([]byte("(d"), 30<<20)...)
		}},
		{name: "marked-lists.pickle", slow: true, args: []string{"replay"}, data: func() []byte {
			return append([]byte("\x80\x02("), bytes.Repeat([]byte("(l"), 30<<20)...)
		}},
		{name: "dup.pickle", slow: true, args: []string{"replay"}, data: func() []byte {
			return stackPickle("N2", 30<<20, 0)
		}},
		{name: "memo.pickle", slow: true, args: []string{"replay"}, data: func() []byte {
			return stackPickle("N\x94", 30<<20, 0)
		}},
		{name: "cases.json", slow: true, args: []string{"diff", "cases.json"}, data: func() []byte {
			return []byte(`{"schema":1,"exit":0,"cases":[{}` + strings.Repeat(",{}", 20<<20) + "]}")
		}},
		{name: "holders.json", slow: true, args: []string{"diff", "holders.json"}, data: func() []byte {
			return []byte(`{"schema":1,"peak":{"holders":[{}` + strings.Repeat(",{}", 20<<20) + "]},\"holders\":[{}" +
				strings.Repeat(",{}", 1<<20) + "]}")
		}},
		{name: "frames.rec", slow: true, args: []string{"replay"}, data: func() []byte {
			return gzipped(recOf("frames", 1<<20, `["a.py",1,"f"]`))
		}},
		{name: "stacks.rec", slow: true, args: []string{"replay"}, data: func() []byte {
			return gzipped(recOf("stacks", 1<<20, "[]"))
		}},
		{name: "sites.rec", slow: true, args: []string{"replay"}, data: func() []byte {
			return gzipped(recOf("sites", 256<<10, `["a","m","activation",0]`))
		}},
		{name: "pairs.rec", slow: true, args: []string{"replay"}, data: func() []byte {
			return gzipped(recOf("events", 2<<20, "[3,0,1048576]", "[0,0,512]", "[1,0,512]", "[2,0,512]"))
		}},
		{name: "events.rec", slow: true, args: []string{"replay"}, data: func() []byte {
			return gzipped(recOf("events", 2<<20, "[0,1048576,512]"))
		}},
	}
}

// recOf is a recording of n lines of one kind: the first, and the others over and over.
func recOf(kind string, n int, first string, others ...string) string {
	count := map[string]int{kind: n}
	pass := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"requested":0,"allocated":0,"reserved":0,"active":0,"inactive_split":0,"events":%d}`,
			name, count["events"])
	}
	head := fmt.Sprintf(
		`{"rec":1,"record":{"schema":1,"case":"m","where":"pretend","torch":"2.15.0","phases":[%s,%s,%s]},`+
			`"actions":["alloc","free_requested","free_completed","segment_alloc"],"frames":%d,"stacks":%d,"sites":%d,"events":%d}`,
		strings.ReplaceAll(pass("baseline"), fmt.Sprint(n), "0"), pass("first"), pass("steady"), count["frames"],
		count["stacks"], count["sites"], count["events"])
	if len(others) == 0 {
		others = []string{first}
	}
	lines := append(make([]string, 0, n), first)
	for i := range n - 1 {
		lines = append(lines, others[i%len(others)])
	}
	return head + "\n" + strings.Join(lines, "\n") + "\n"
}

// legal are models that are large and no more than that.
func legal(a *archiver) []hostileFile {
	list := func(n int) string { return strings.Join(many(n, func(i int) string { return "x" }), ", ") }
	return []hostileFile{
		{name: "statements.pt", slow: true, args: estimateX, holds: true, data: func() []byte {
			return a.script(append(many(100000, func(i int) string { return fmt.Sprintf("a%d = torch.relu(x)", i) }),
				"return x")...)
		}},
		{name: "names.pt", args: estimateX, holds: true, data: func() []byte {
			return a.script(append(many(9382, func(i int) string { return fmt.Sprintf("a%d = torch.add(x, %d)", i, i) }),
				"return x")...)
		}},
		{name: "list.pt", args: estimateX, holds: true, data: func() []byte {
			return a.script("l = ["+list(100000)+"]", "return x")
		}},
		{name: "tuple.pt", args: estimateX, holds: true, data: func() []byte {
			return a.script("l = ("+list(100000)+")", "return x")
		}},
		{name: "parameters.pt", args: estimateX, holds: true, data: func() []byte {
			return a.function("x: Tensor,\n    "+strings.Join(many(50000, func(i int) string {
				return fmt.Sprintf("p%d: int=1", i)
			}), ",\n    "), "return x")
		}},
		{name: "dict.pt", slow: true, args: estimateX, holds: true, data: func() []byte {
			return a.script("d = {"+strings.Join(many(200000, func(i int) string { return fmt.Sprintf(`"%d": 1`, i) }), ", ")+
				"}", "return x")
		}},
	}
}

// longest take 4 s of processor time and more, others of their kind less: they are tried where all
// are.
var longest = []string{
	"calls.pt2", "dicts.pt", "einsum.pt", "events.rec", "half-names.pt", "half-statements.pt", "lists.pt", "pairs.pt",
	"slices.pt", "sorted.pt", "split-tensor.pt",
}

// TestHostileFiles runs commands on files that ask for much: each ends with an exit code, within
// the memory and the time that SECURITY.md promises. MEMSPEC_WHOLE=1 tries more of them,
// and MEMSPEC_HOSTILE=1 all.
func TestHostileFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("processes with limits")
	}
	all := os.Getenv("MEMSPEC_HOSTILE") == "1"
	a := newArchiver(t)
	l := newLimited(t)
	files := slices.Concat(legal(a), costly(a), bulky(t), packed(a))
	for _, name := range longest {
		require.True(t, slices.ContainsFunc(files, func(f hostileFile) bool { return f.name == name }), name)
	}
	for _, f := range files {
		if !all && (f.slow && os.Getenv("MEMSPEC_WHOLE") == "" || slices.Contains(longest, f.name)) {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, f.name), f.data(), 0o600))
			r := l.run(t, dir, append(f.args[:len(f.args):len(f.args)], f.name)...)
			t.Logf("%s: exit %d, %d MiB, %v: %.300s", f.name, r.code, r.memory>>20, r.cpu, r.out)
			if f.holds {
				require.Zero(t, r.code, "%.1000s", r.out)
				return
			}
			r.within(t, f.name)
		})
	}
}
