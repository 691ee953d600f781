package engine

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// A Cache keeps the accounts of cases in a folder, so that a case which nothing has changed for is not run again. An account is found by all that it
// depends on: the version of the engine, what memspec.yaml says of the run, what can be read of the artifact, its sidecar, the workspace profile. The
// sources that were looked at to tell whether the artifact is stale are held against it as well. Budgets are not: they are judged anew each time.
//
// Who can write to the folder can make any case pass. It may be removed at any time.
type Cache struct {
	folder, version string

	mu       sync.Mutex
	digests  map[string]func() (string, error) // of artifacts, each read once
	profiles map[*profile.Profile]string
	failed   error // the first account that could not be kept
}

// OpenCache readies a folder. version names the engine: accounts of another one are not found.
func OpenCache(folder, version string) (*Cache, error) {
	if version == "" {
		return nil, errors.New("got a cache for no version of the engine, want one")
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, plain(err)
	}
	tried, err := os.CreateTemp(folder, "tried-*")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, reason(err))
	}
	_ = tried.Close()
	_ = os.Remove(tried.Name())
	return &Cache{folder: folder, version: version, digests: map[string]func() (string, error){}, profiles: map[*profile.Profile]string{}}, nil
}

// reason is what an error of os says without its path.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Err is why an account could not be kept: the first time.
func (c *Cache) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// kept is an account as the cache has it.
type kept struct {
	Sources []source       `json:"sources"` // as they were, when they were looked at
	Report  *report.Report `json:"report"`
	Lower   *report.Report `json:"lower,omitempty"` // with data-dependent sizes at their lower end
}

// source is a file that a case's artifact was made from.
type source struct {
	Path   string `json:"path"`
	Digest string `json:"digest"` // "" where there is none
}

// maxKept bounds an entry that is read.
const maxKept = 64 << 20

// key names the account of a case; "" where it cannot be told from another, which is then run.
func (c *Cache) key(k *spec.Case) string {
	path, err := artifactOf(k)
	if err != nil {
		return ""
	}
	digest, err := c.digest(path)
	if err != nil {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "version=%q\nartifact=%s\nprofile=%s\nsidecar=%s\n", c.version, digest, c.profile(k.Platform.Workspace), fileDigest(path+sidecarSuffix))
	for _, beside := range artifact.Beside { // tell the lines of a wrapper's kernels
		fmt.Fprintf(h, "%s=%s\n", beside, fileDigest(filepath.Join(filepath.Dir(path), beside)))
	}
	k.WriteRun(h)
	return hex.EncodeToString(h.Sum(nil))
}

func (c *Cache) digest(path string) (string, error) {
	c.mu.Lock()
	once, ok := c.digests[path]
	if !ok {
		once = sync.OnceValues(func() (string, error) {
			sum, err := artifact.Digest(path)
			return hex.EncodeToString(sum[:]), err
		})
		c.digests[path] = once
	}
	c.mu.Unlock()
	return once()
}

// profile hashes what a workspace profile answers.
func (c *Cache) profile(p *profile.Profile) string {
	if p == nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.profiles[p]; !ok {
		h := sha256.New()
		_, _ = p.WriteTo(h) // a hash does not fail
		c.profiles[p] = hex.EncodeToString(h.Sum(nil))
	}
	return c.profiles[p]
}

// fileDigest hashes a file; "" where there is none that can be read.
func fileDigest(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (c *Cache) file(key string) string { return filepath.Join(c.folder, key[:2], key[2:]+".json.gz") }

// find is the account of a key; nil where there is none, where it is damaged, and where a source is another now.
func (c *Cache) find(key string) *kept {
	f, err := os.Open(c.file(key))
	if err != nil {
		return nil
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil
	}
	data, _ := io.ReadAll(io.LimitReader(z, maxKept+1)) // what is cut off has another digest
	sum, text, _ := bytes.Cut(data, []byte("\n"))
	if len(data) > maxKept || string(sum) != textDigest(text) {
		return nil
	}
	k := &kept{}
	if json.Unmarshal(text, k) != nil || k.Report == nil {
		return nil
	}
	for _, s := range k.Sources {
		if fileDigest(s.Path) != s.Digest {
			return nil
		}
	}
	return k
}

func textDigest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// keep puts an account where find finds it.
func (c *Cache) keep(key string, k *kept) {
	text, err := json.Marshal(k)
	if err == nil {
		err = c.write(c.file(key), append([]byte(textDigest(text)+"\n"), text...))
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.failed == nil {
			c.failed = fmt.Errorf("%s: %w", c.folder, err)
		}
	}
}

// write puts a file in its place when it is whole.
func (c *Cache) write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	z, _ := gzip.NewWriterLevel(f, gzip.BestSpeed)
	_, err = z.Write(data)
	if err = errors.Join(err, z.Close(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// sources are the files that m.stale looks at for a case.
func (m *Model) sources(c *spec.Case) []source {
	out := []source{}
	add := func(path string) { out = append(out, source{path, fileDigest(path)}) }
	if m.made != nil {
		for _, f := range m.made.Files {
			add(filepath.Join(filepath.Dir(m.Path), filepath.FromSlash(f.Path)))
		}
	}
	if m.Artifact.Program != nil && c.Source != "" {
		add(sourceFile(c))
	}
	return out
}

// account is the judged case without what others budget of it: from the cache, where that knows its account, else run.
func (ms *Models) account(ctx context.Context, c spec.Case) *Result {
	if ms.Cache == nil {
		return ms.run(ctx, c)
	}
	if err := ms.useProfile(&c); err != nil {
		return failed(c, err)
	}
	key := ms.Cache.key(&c)
	if key == "" {
		return ms.run(ctx, c)
	}
	if k := ms.Cache.find(key); k != nil {
		return judged(c, nil, k.Report, k.Lower)
	}
	r := ms.run(ctx, c)
	if r.Err == nil {
		ms.Cache.keep(key, &kept{Sources: r.Run.Model.sources(&c), Report: r.Report, Lower: r.options.Lower})
	}
	return r
}

func (ms *Models) run(ctx context.Context, c spec.Case) *Result {
	r, err := ms.Run(ctx, c)
	if err != nil {
		return failed(c, err)
	}
	return r.Judge(ctx)
}
