package format_test

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// Every format of every archive. What is binary is shown as text.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(a *golden.Archive) {
		t := a.T()
		sections := map[string][]byte{}
		cases := readCases(t, a.Input("cases.json"), func(name string) []byte {
			if sections[name] == nil {
				sections[name] = a.Input(name)
			}
			return sections[name]
		})
		o := format.Options{Version: "v0.0.0", Paths: tree("memspec.yaml", "model/net.py")}
		for _, f := range format.Formats() {
			all := cases
			if f.Name == "perfetto" { // one case shows it
				all = cases[:1]
			}
			got := write(t, f, o, all...)
			switch f.Name {
			case "snapshot":
				got = format.ReadablePickle(t, got)
			case "html": // the page's own style and script are not the case's
				got = regexp.MustCompile(`(?s)(<style>|<script>).*?(</style>|</script>)`).ReplaceAll(got, []byte("$1…$2"))
				got = regexp.MustCompile(`sha256-.*?&#39;`).ReplaceAll(got, []byte("sha256-…&#39;"))
			case "pprof":
				got = readableProfile(t, got)
			}
			a.Want(f.Name, got)
		}
		var plot bytes.Buffer
		require.NoError(t, format.Plot(&plot, cases[0]))
		a.Want("plot", plot.Bytes())
		for line := range strings.Lines(plot.String()) {
			assert.LessOrEqual(t, utf8.RuneCountInString(line)-1, 80, line)
		}
	})
}

// readableProfile prints a profile: its types, comments, and a line a sample with its stack from
// the outermost in.
func readableProfile(t testing.TB, data []byte) []byte {
	p, err := profile.ParseData(data)
	require.NoError(t, err)
	require.NoError(t, p.CheckValid())
	var b bytes.Buffer
	for _, v := range p.SampleType {
		fmt.Fprintf(&b, "type %s %s\n", v.Type, v.Unit)
	}
	for _, s := range p.Sample {
		var stack, labels []string
		for _, l := range slices.Backward(s.Location) {
			line := l.Line[0]
			name := strings.TrimSpace(line.Function.Name + " " + line.Function.Filename)
			stack = append(stack, fmt.Sprintf("%s:%d", name, line.Line))
		}
		for _, key := range slices.Sorted(maps.Keys(s.Label)) {
			labels = append(labels, key+"="+s.Label[key][0])
		}
		fmt.Fprintf(&b, "sample %v %s [%s]\n", s.Value, strings.Join(stack, ";"), strings.Join(labels, " "))
	}
	for _, c := range p.Comments {
		fmt.Fprintf(&b, "comment %s\n", c)
	}
	fmt.Fprintf(&b, "default %s\n", p.DefaultSampleType)
	return b.Bytes()
}

// TestProfilesAreShort: storages that were made at one place are one sample of a profile, and a
// function that is met again is the same function.
func TestProfilesAreShort(t *testing.T) {
	for _, c := range archiveCases(t, "testdata/rich.txtar") {
		if c.Timeline == nil {
			continue
		}
		p, err := profile.ParseData(write(t, named(t, "pprof"), format.Options{}, c))
		require.NoError(t, err)
		stacks, functions, count := map[string]bool{}, map[[2]string]bool{}, int64(0)
		for _, s := range p.Sample {
			stack := fmt.Sprint(s.Location)
			assert.False(t, stacks[stack], "%s: two samples of the stack %s", c.Name, stack)
			stacks[stack] = true
			count += s.Value[0]
		}
		for _, f := range p.Function {
			key := [2]string{f.Name, f.Filename}
			assert.False(t, functions[key], "%s: two functions %v", c.Name, key)
			functions[key] = true
		}
		assert.EqualValues(t, len(c.Timeline.Held(c.Timeline.Peaks.Allocated.Event)), count, c.Name)
	}
}
