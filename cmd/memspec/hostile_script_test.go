//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An archiver makes TorchScript archives from a small one by replacing some of its records.
type archiver struct {
	records map[string][]byte
	order   []string
	code    string // the record of the model's source
}

func newArchiver(t testing.TB) *archiver {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "artifacts", "small", "addmm.script.pt"))
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
func (a *archiver) with(changed map[string][]byte) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range a.order {
		data, ok := changed[name]
		if !ok {
			data = a.records[name]
		}
		w, _ := z.Create(name)
		_, _ = w.Write(data)
	}
	_ = z.Close()
	return out.Bytes()
}

// record is the name of a record below the archive's top folder.
func (a *archiver) record(name string) string {
	return a.code[:strings.IndexByte(a.code, '/')+1] + name
}

const scriptHead = `class Model(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
`

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
