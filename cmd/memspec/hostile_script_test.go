//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An archiver makes archives from a small one by replacing some of its records.
type archiver struct {
	records map[string][]byte
	order   []string
	code    string // the record of a TorchScript model's source
}

// newArchiver makes TorchScript archives.
func newArchiver(t testing.TB) *archiver {
	t.Helper()
	return archiverOf(t, "small", "addmm.script.pt")
}

// archiverOf makes archives from one of testdata/artifacts.
func archiverOf(t testing.TB, path ...string) *archiver {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "artifacts", filepath.Join(path...)))
	require.NoError(t, err)
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	a := &archiver{records: map[string][]byte{}}
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, ".debug_pkl") {
			continue
		}
		r, err := f.Open()
		require.NoError(t, err)
		a.records[f.Name], err = io.ReadAll(r)
		require.NoError(t, err)
		a.order = append(a.order, f.Name)
		if strings.HasSuffix(f.Name, ".py") {
			a.code = f.Name
		}
	}
	return a
}

// with is the archive with some of its records replaced, compressed.
func (a *archiver) with(changed map[string][]byte) []byte { return a.packed(changed, zip.Deflate) }

// around makes archives with one of the records replaced.
func (a *archiver) around(record string) func(data []byte) []byte {
	return func(data []byte) []byte { return a.with(map[string][]byte{record: data}) }
}

// packed is the archive with some of its records replaced.
func (a *archiver) packed(changed map[string][]byte, method uint16) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	fast, _ := flate.NewWriter(nil, flate.BestSpeed) // one for all records, which are written one after the other
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		fast.Reset(w)
		return fast, nil
	})
	for _, name := range a.order {
		data, ok := changed[name]
		if !ok {
			data = a.records[name]
		}
		w, _ := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		_, _ = w.Write(data)
	}
	_ = z.Close()
	return out.Bytes()
}

// record is the name of a record below the archive's top folder.
func (a *archiver) record(name string) string {
	return a.order[0][:strings.IndexByte(a.order[0], '/')+1] + name
}

const scriptHead = `class Model(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
`

// edited is the archive with a part of a JSON record replaced, and with noise in the record, which
// keeps its ratio low.
func (a *archiver) edited(t testing.TB, name, old, with string) []byte {
	t.Helper()
	text := string(a.records[a.record(name)])
	require.Contains(t, text, old, name)
	text = strings.Replace(text, old, with, 1)
	text = `{"noise":"` + noiseText(1+len(text)/200) + `",` + text[1:]
	return a.with(map[string][]byte{a.record(name): []byte(text)})
}

// noiseText is noise in letters.
func noiseText(n int) string { return base64.StdEncoding.EncodeToString(noise(n)) }

// script is an archive whose forward has these lines.
func (a *archiver) script(lines ...string) []byte {
	return a.function("x: Tensor", lines...)
}

func (a *archiver) function(parameters string, lines ...string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  def forward(self: __torch__.addmm.Model,\n    %s) -> Tensor:\n", scriptHead, parameters)
	for _, line := range lines {
		b.WriteString("    " + line + "\n")
	}
	return a.with(map[string][]byte{a.code: []byte(b.String())})
}

// many is a text for each number below n.
func many(n int, text func(i int) string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = text(i)
	}
	return out
}
