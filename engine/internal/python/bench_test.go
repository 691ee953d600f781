package python

import "testing"

// The whole corpus: about 6 MB of source.
func BenchmarkParse(b *testing.B) {
	benchmark(b, func(p *Parser, f *File) error { p.Use(f); return p.all() })
}

func BenchmarkOutline(b *testing.B) { benchmark(b, (*Parser).Outline) }

func benchmark(b *testing.B, read func(*Parser, *File) error) {
	var files []string
	size := 0
	corpus(b, func(_, _, src string) { files = append(files, src); size += len(src) })
	b.SetBytes(int64(size))
	b.ReportAllocs()
	var p Parser
	for b.Loop() {
		for _, src := range files {
			if err := read(&p, &File{Name: "f.py", Source: src}); err != nil {
				b.Fatal(err)
			}
		}
	}
}
