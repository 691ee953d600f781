package artifact

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/memspec/memspec/engine/internal/ptzip"
)

// Strip copies an archive without its weights: records of weights of more than ptzip.MaxSmall bytes
// become empty ones of the same name, and the record ptzip.StrippedRecord reports their true sizes;
// those that are files of torch.save are stripped themselves. Everything else keeps its content.
// Smaller records stay, because a program may compute shapes with them, so that a check of the copy
// says what a check of the archive says, to the byte. A copy of a copy is the same file. The copy
// appears at out whole or not at all. torch.export programs are copied alike, though they are not
// read yet: their weights, constants and sample inputs are below data/ too, and what describes
// them, the .json files, is no weight.
func Strip(in, out string) error {
	f, err := openFile(in)
	if err != nil {
		return fmt.Errorf("%s: %w", in, plain(err))
	}
	defer f.close()
	if k, what := f.kind(); k == nil || !k.strip || f.zip == nil {
		return fmt.Errorf("%s: %w", in, &Unrecognized{What: what, Want: "an archive with a record for each weight: one of " +
			"torch.jit.save, or of torch.export"})
	}
	out, err = target(out)
	if err != nil {
		return err
	}
	if err := replace(out, func(w io.Writer) error { return strip(f.zip, w) }); err != nil {
		return fmt.Errorf("%s: %w", out, plain(err))
	}
	return nil
}

// target is the file that out leads to: what a link points to, and no device or folder, which a
// rename would replace.
func target(out string) (string, error) {
	to, err := filepath.EvalSymlinks(out)
	if err != nil {
		return out, nil // nothing there yet
	}
	if have, err := os.Stat(to); err == nil && !have.Mode().IsRegular() {
		return "", fmt.Errorf("%s: got something that is no plain file, want a file to write", out)
	}
	return to, nil
}

// replace writes a file beside out and then puts it in out's place.
func replace(out string, write func(io.Writer) error) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(out), "."+filepath.Base(out)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()
	if err := write(tmp); err != nil {
		return err
	}
	if err := cmp.Or(tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), out)
}

// strip writes the records in their order, without times, deflated, and the sizes last.
func strip(z *ptzip.Reader, out io.Writer) error {
	w := zip.NewWriter(out)
	var d deflater
	w.RegisterCompressor(zip.Deflate, d.to)
	prefix := ""
	if z.Root() != "" {
		prefix = z.Root() + "/"
	}
	sizes := ptzip.Stripped{Schema: ptzip.StrippedSchema, Records: map[string]int64{}}
	for _, name := range z.Names() {
		size, _ := z.Size(name)
		if name == ptzip.StrippedRecord {
			if err := earlier(z, &sizes); err != nil {
				return err
			}
			continue
		}
		if ptzip.IsWeight(name) && size > ptzip.MaxSmall {
			data, err := stripSaved(z, name)
			if err != nil {
				return err
			}
			if data == nil {
				sizes.Records[name] = size
			}
			if err := write(w, prefix+name, data, zip.Store); err != nil {
				return err
			}
			continue
		}
		data, err := z.ReadFile(name)
		if err != nil {
			return err
		}
		if err := record(w, prefix+name, data); err != nil {
			return err
		}
	}
	data, _ := json.Marshal(sizes) // keys sorted
	if err := record(w, prefix+ptzip.StrippedRecord, data); err != nil {
		return err
	}
	return w.Close()
}

// A deflater compresses the records of one archive, one after the other. Setting up a compressor
// costs more than most records take, so it is set up once.
type deflater struct {
	written int64 // bytes before compression
	level   int
	w       *flate.Writer
}

// slowDeflate is up to how many bytes of an archive are compressed well. In the worst case the
// better level takes 0.12 s a MiB, flate.BestCompression 5 s, the fast one 7 ms.
const (
	slowDeflate  = 16 << 20
	deflateLevel = 5
)

func (d *deflater) to(w io.Writer) (io.WriteCloser, error) {
	level := deflateLevel
	if d.written > slowDeflate {
		level = flate.BestSpeed
	}
	if d.w != nil && d.level == level {
		d.w.Reset(w)
		return d, nil
	}
	var err error
	d.level = level
	d.w, err = flate.NewWriter(w, level)
	return d, err
}

func (d *deflater) Write(p []byte) (int, error) {
	d.written += int64(len(p))
	return d.w.Write(p)
}

func (d *deflater) Close() error { return d.w.Close() }

// earlier takes over the sizes of an archive that is stripped already.
func earlier(z *ptzip.Reader, sizes *ptzip.Stripped) error {
	data, err := z.ReadFile(ptzip.StrippedRecord)
	if err != nil {
		return err
	}
	s, err := ptzip.ReadStripped(data)
	if err != nil {
		return err
	}
	for name, size := range s.Records {
		if _, ok := sizes.Records[name]; !ok {
			sizes.Records[name] = size
		}
	}
	return nil
}

// stripSaved strips a file of torch.save that is a record of weights: which tensors lie in one
// storage, and what a tensor subclass is made of, stands in it alone (torch.export through 2.8, and
// its subclasses since). It is nil where the record is none.
func stripSaved(z *ptzip.Reader, name string) ([]byte, error) {
	if !strings.HasPrefix(name, "data/weights/") && !strings.HasPrefix(name, "data/constants/") &&
		!strings.HasPrefix(name, "serialized_") {
		return nil, nil
	}
	f, err := z.Open(name)
	if err != nil {
		return nil, nil //nolint:nilerr // a record that cannot be read at a place
	}
	defer f.Close()
	at := f.(io.ReaderAt) // as every record is
	size, _ := z.Size(name)
	var magic [4]byte
	if _, err := at.ReadAt(magic[:], 0); err != nil || string(magic[:]) != "PK\x03\x04" {
		return nil, nil //nolint:nilerr // no archive
	}
	inner, err := ptzip.Open(at, size)
	if err != nil {
		return nil, nil //nolint:nilerr // bytes of weights that begin so
	}
	if _, ok := inner.Size("data.pkl"); !ok {
		return nil, nil
	}
	var out bytes.Buffer
	if err := strip(inner, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out.Bytes(), nil
}

func record(w *zip.Writer, name string, data []byte) error {
	method := zip.Deflate
	if len(data) == 0 {
		method = zip.Store
	}
	return write(w, name, data, method)
}

func write(w *zip.Writer, name string, data []byte, method uint16) error {
	h := &zip.FileHeader{Name: name, Method: method}
	to, err := w.CreateHeader(h)
	if err != nil {
		return err
	}
	_, err = to.Write(data)
	return err
}
