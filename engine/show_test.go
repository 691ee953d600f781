package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/trace"
)

func TestShow(t *testing.T) {
	show := os.Getenv("SHOW")
	if show == "" {
		t.Skip()
	}
	model, runtime, _ := strings.Cut(show, ".")
	dev := os.Getenv("DEV")
	if dev == "" {
		dev = "t4"
	}
	want := readPretended(t, "/tmp/rec/"+dev+"/"+model+".txt")
	file := filepath.Join("..", "testdata", "artifacts", "exported", "models", want.model+".pt2")
	if _, err := os.Stat(file); err != nil {
		file = filepath.Join("..", "testdata", "artifacts", "exported", want.model+".pt2")
	}
	a, _ := artifact.Open(file)
	c := caseOn(t, want.device, file, exampleTexts(t, a.Program)...)
	c.Runtime = spec.Runtime(runtime)
	r, err := new(engine.Models).Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	got := streamOf(r.Trace)
	var sites []string
	for i := range r.Trace.Events {
		e := &r.Trace.Events[i]
		if e.Pass == 1 && (e.Action == trace.Alloc || e.Action == trace.FreeRequested) {
			s := r.Trace.Sites[e.Site]
			sites = append(sites, fmt.Sprintf("%s %s:%d %s", s.Op, filepath.Base(s.File), s.Line, s.Category))
		}
	}
	w := want.runs[runtime]
	same := 0
	for same < min(len(got), len(w.events)) && got[same] == w.events[same] {
		same++
	}
	n := 14
	fmt.Sscan(os.Getenv("N"), &n)
	for i := max(0, same-8); i < same+n; i++ {
		g, x, s := "", "", ""
		if i < len(got) {
			g, s = got[i], sites[i]
		}
		if i < len(w.events) {
			x = w.events[i]
		}
		fmt.Printf("%5d %-12s %-12s %s\n", i, g, x, s)
	}
}
