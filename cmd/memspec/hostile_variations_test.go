//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A variation is a file with one thing in it that is not as it should be.
type variation struct {
	name string
	data []byte
	pack func(data []byte) []byte // makes the file of the data; nil: the data is the file
}

func (v variation) file() []byte {
	if v.pack == nil {
		return v.data
	}
	return v.pack(v.data)
}

// cuts are a file up to so many places.
func cuts(data []byte, places int) (out []variation) {
	for i := range places {
		at := len(data) * i / places
		out = append(out, variation{name: fmt.Sprintf("cut at %d", at), data: data[:at]})
	}
	return out
}

// limitsOfFields puts a number's limits at a place of a binary file, four bytes and eight.
func limitsOfFields(data []byte, places []int) (out []variation) {
	for _, at := range places {
		for _, field := range [][]byte{{0, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0x7f},
			bytes.Repeat([]byte{0xff}, 8)} {
			if at+len(field) <= len(data) {
				changed := bytes.Clone(data)
				copy(changed[at:], field)
				out = append(out, variation{name: fmt.Sprintf("%x at %d", field, at), data: changed})
			}
		}
	}
	return out
}

// zipFields are the places of fields in an archive's headers: of each kind of header the first.
func zipFields(data []byte) (out []int) {
	for _, h := range []struct {
		mark   string
		fields []int
	}{{"PK\x03\x04", []int{4, 8, 14, 18, 22, 26, 28}}, {"PK\x01\x02", []int{8, 10, 16, 20, 24, 28, 30, 34, 42}},
		{"PK\x05\x06", []int{4, 8, 10, 12, 16, 20}}} {
		if at := bytes.Index(data, []byte(h.mark)); at >= 0 {
			for _, f := range h.fields {
				out = append(out, at+f)
			}
		}
	}
	return out
}

var (
	numbers = regexp.MustCompile(`[0-9]+`)
	lists   = regexp.MustCompile(`[\[{]`)
	words   = regexp.MustCompile(`"[^"\n]+"`)
)

// texts changes a text's numbers, lists and strings, of each kind so many: numbers to limits, lists
// nested and long, strings long and of none.
func texts(text string, most int) (out []variation) {
	change := func(what *regexp.Regexp, into ...string) {
		spans := what.FindAllStringIndex(text, -1)
		for i := range min(most, len(spans)) {
			span := spans[len(spans)*i/min(most, len(spans))]
			for _, to := range into {
				out = append(out, variation{name: fmt.Sprintf("%.20q at %d", to, span[0]),
					data: []byte(text[:span[0]] + to + text[span[1]:])})
			}
		}
	}
	change(numbers, "-1", "2147483648", "9223372036854775807", "18446744073709551616", "1e308",
		strings.Repeat("9", 100000))
	change(lists, strings.Repeat("[", 100000), strings.Repeat(`{"a":`, 100000), "null")
	change(words, `""`, `"`+strings.Repeat("x", 1<<20)+`"`, "null", "[]", `"\ud800"`)
	return append(out, cuts([]byte(text), most)...)
}

// pickles are pickles of lengths, numbers, nesting, cycles and sharing that no program writes.
func pickles() (out []variation) {
	add := func(name, text string) { out = append(out, variation{name: name, data: []byte("\x80\x02" + text)}) }
	for _, opcode := range []string{"T", "B", "X", "\x8d", "\x8e", "\x8b", "j", "r", "\x95", "\x96", "J"} {
		for _, length := range []uint64{0, 1, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 62, 1<<64 - 1} {
			add(fmt.Sprintf("%q of %d", opcode, length), opcode+string(binary.LittleEndian.AppendUint64(nil, length))+".")
		}
	}
	for _, opcode := range []string{".", "0", "1", "2", "a", "b", "c", "d", "e", "l", "o", "R", "Q", "s", "t", "u", "\x81",
		"\x85", "\x86", "\x87", "\x90", "\x91", "\x93", "\x94"} {
		add(fmt.Sprintf("%q alone", opcode), opcode)
		add(fmt.Sprintf("%q of None", opcode), "NNN"+opcode+".")
		add(fmt.Sprintf("%q of a mark", opcode), "(NNN"+opcode+".")
		add(fmt.Sprintf("%q of lists", opcode), "]](]]"+opcode+".")
	}
	add("a list in itself", "]q\x00h\x00a.")
	add("a dict in itself", "}q\x00X\x01\x00\x00\x00ah\x00s.")
	add("a tuple in itself", "]q\x00h\x00\x85a.")
	add("lists in one another", strings.Repeat("]", 100000)+strings.Repeat("a", 99999)+".")
	add("tuples in one another", "N"+strings.Repeat("\x85", 1000000)+".")
	add("tuples of themselves", "N"+strings.Repeat("q\x00h\x00\x86", 200)+".")
	add("marks", strings.Repeat("(", 1000000)+".")
	add("a long number", "\x8b\x00\x00\x10\x00"+strings.Repeat("\x7f", 1<<20)+".")
	return out
}

// twice are archives of which a record stands there twice, is a folder too, or leads to itself.
func twice(a *archiver) (out []variation) {
	changed := map[string][]byte{}
	add := func(name string, record func(name string) string) {
		for _, at := range []int{0, len(a.order) / 2, len(a.order) - 1} {
			b := *a
			again := record(a.order[at])
			b.order = append(slices.Clone(a.order), again)
			if _, ok := a.records[again]; !ok {
				changed[again] = a.records[a.order[at]]
			}
			out = append(out, variation{
				name: fmt.Sprintf("%s: %s", name, a.order[at]),
				pack: func([]byte) []byte { return b.with(changed) },
			})
		}
	}
	add("twice", func(name string) string { return name })
	add("a folder too", func(name string) string { return name + "/" })
	add("a file in a file", func(name string) string { return name + "/x" })
	add("in itself", func(name string) string { return name + "/" + name })
	add("above", func(name string) string { return "../" + name })
	add("by a detour", func(name string) string { return strings.Replace(name, "/", "/./", 1) })
	add("another root", func(name string) string { return "other" + name })
	return out
}

// variations are files of every kind that a command opens, by the command's arguments and the name
// of the file.
func variations(t testing.TB) map[string][]variation {
	root := filepath.Join("..", "..")
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		require.NoError(t, err)
		return data
	}
	a := newArchiver(t)
	archive, program := a.with(nil), read("testdata/artifacts/exported/half.pt2")
	snapshot := read("testdata/snapshots/good.pickle")
	var own, saved []variation
	for _, p := range pickles() {
		own = append(own, variation{"data.pkl: " + p.name, p.data, a.around(a.record("data.pkl"))})
		saved = append(saved, p)
	}
	for _, v := range texts(string(a.records[a.code]), 4) {
		own = append(own, variation{"code: " + v.name, v.data, a.around(a.code)})
	}
	own = append(append(own, cuts(archive, 16)...), limitsOfFields(archive, zipFields(archive))...)
	saved = append(saved, cuts(snapshot, 16)...)

	unpacked, err := gzip.NewReader(bytes.NewReader(read("examples/llm/prefill-8192.rec")))
	require.NoError(t, err)
	rec, err := io.ReadAll(io.LimitReader(unpacked, 16<<20))
	require.NoError(t, err)
	head, rows, _ := strings.Cut(string(rec), "\n")
	var recs []variation
	for _, v := range texts(head, 8) {
		recs = append(recs, variation{"head: " + v.name, v.data, func(head []byte) []byte {
			return gzipped(string(head) + "\n" + rows)
		}})
	}
	recs = append(recs, cuts(read("examples/llm/prefill-8192.rec"), 8)...)

	estimate :=
		`{"schema":1,"artifact":"m.pt","device":"t4","weights":1,"delta":2,"peak":{"allocated":3,"reserved":4},"holders":[{"op":"aten::mm","flat":5,"count":1}],"notes":[]}`
	check := `{"schema":1,"exit":0,"cases":[{"name":"m","report":` + estimate + `}]}`
	cases := "version: 1\nmodels: {m: {artifact: \"m.pt\", device: \"t4\", inputs: {x: \"float32[4,4]\"}, budget: " +
		"{allocated: \"1GiB\"}, dims: {n: [1, 2]}}}\n"
	measured := string(read("engine/recording/testdata/records/small.json"))
	half := archiverOf(t, "exported", "half.pt2")
	model := half.record("models/model.json")
	var programs []variation
	for _, v := range texts(string(half.records[model]), 8) {
		programs = append(programs, variation{"model: " + v.name, v.data, half.around(model)})
	}
	doubled := append(twice(a), twice(half)...)
	files := slices.Concat(cuts(archive, 4), doubled, own[:8])
	return map[string][]variation{
		"explain --by module --device t4 --input b=float32[4] --input x=float32[4,4] --input w=float32[4,4] m.pt": files,
		"fit --dim B --device t4 --input b=float32[4] --input x=float32[B,4] --input w=float32[4,4] m.pt":         files,
		"sweep --dim B=1..3 --device t4 --input b=float32[4] --input x=float32[B,4] --input w=float32[4,4] m.pt":  files,
		"init --device t4 --input b=float32[4] --input x=float32[4,4] --input w=float32[4,4] m.pt":                files,
		"explain --device t4 --input float32[64,32] m.pt2":                                                        programs,
		"estimate --device t4 --input float32[64,32] m.pt2": append(
			programs, doubled...),
		"dump --stage trace --device t4 --input float32[64,32] m.pt2": programs,
		"strip -o doubled.pt m.pt":                                    doubled,
		"update memspec.yaml":                                         texts(cases, 2),
		"cases memspec.yaml":                                          texts(cases, 2),
		"verify memspec.yaml --measured .":                            texts(cases, 2),
		"verify memspec.yaml --measured measured/m.json":              texts(measured, 4),
		"estimate --device t4 --input b=float32[4] --input x=float32[4,4] --input w=float32[4,4] m.pt": own,
		"estimate --device t4 m.pt2":        append(cuts(program, 8), limitsOfFields(program, zipFields(program))...),
		"replay m.pickle":                   saved,
		"replay m.rec":                      recs,
		"diff m.json m.json":                append(texts(estimate, 4), texts(check, 4)...),
		"check memspec.yaml":                texts(cases, 4),
		"baseline memspec.yaml -o out.json": texts(cases, 1),
		"ops --missing m.pt":                cuts(archive, 8),
		"dump --stage program m.pt":         limitsOfFields(archive, zipFields(archive)[:7]),
		"strip -o out.pt m.pt":              limitsOfFields(archive, zipFields(archive)),
	}
}

// TestHostileVariations runs commands on files with one thing that is wrong, all in this process:
// no panic, and no more memory and time than is promised. A plain go test tries one of sixteen.
func TestHostileVariations(t *testing.T) {
	if testing.Short() {
		t.Skip("many files")
	}
	share := 16
	if os.Getenv("MEMSPEC_HOSTILE") == "1" || os.Getenv("MEMSPEC_WHOLE") != "" {
		share = 1
	}
	all := variations(t)
	t.Chdir(t.TempDir())
	debug.FreeOSMemory() // what other tests left
	tried, n := 0, 0
	for command, files := range all {
		args := strings.Fields(command)
		var name string
		for _, arg := range args {
			if strings.HasPrefix(arg, "m.") || arg == "memspec.yaml" {
				name = arg
			}
		}
		if args[len(args)-1] == "measured/m.json" { // a record, in the folder that is named
			name, args[len(args)-1] = "measured/m.json", "measured"
			require.NoError(t, os.MkdirAll("measured", 0o700))
			require.NoError(t, os.WriteFile("memspec.yaml", []byte("version: 1\nmodels: {}\n"), 0o600))
		}
		for i, f := range files {
			if n++; i%share != 0 {
				continue
			}
			tried++
			require.NoError(t, os.WriteFile(name, f.file(), 0o600))
			_ = os.Remove("out.pt")
			what := command + ": " + f.name
			var out bytes.Buffer
			r := inCommand(t, args, &out)
			r.out = out.String()
			r.within(t, what)
			if t.Failed() {
				return
			}
		}
	}
	t.Logf("%d of %d files", tried, n)
	require.Greater(t, n, 500)
}

// usage is what this process has taken.
func usage(t testing.TB) limitedRun {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	most := int64(u.Maxrss)
	if runtime.GOOS != "darwin" {
		most <<= 10
	}
	return limitedRun{memory: most, cpu: time.Duration(u.Utime.Nano() + u.Stime.Nano())}
}
