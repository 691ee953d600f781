package profile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace/profile"
)

var sm89 = profile.Answerer{Library: "cudnn", Version: "9.10.2", Class: "sm89"}

// conv1 is resnet50's first convolution at batch 1.
func conv1() profile.Call {
	return profile.Call{Op: "conv", Direction: "forward", DType: "float32", Input: []int64{1, 3, 224, 224},
		InputStrides: []int64{150528, 50176, 224, 1},
		Weight:       []int64{64, 3, 7, 7}, WeightStrides: []int64{147, 49, 7, 1}, Padding: []int64{3, 3},
		Stride:   []int64{2, 2},
		Dilation: []int64{1, 1}, Groups: 1, AllowTF32: true}
}

func TestLookup(t *testing.T) {
	p := &profile.Profile{}
	want := profile.Answer{Bytes: 639760, Engine: 38}
	require.NoError(t, p.Add(sm89, profile.Entry{Call: conv1(), Answer: want}))

	call := conv1()
	got, ok := p.Lookup(sm89, &call)
	require.True(t, ok)
	assert.Equal(t, want, got)

	for why, change := range map[string]func(*profile.Answerer, *profile.Call){
		"another version":  func(a *profile.Answerer, _ *profile.Call) { a.Version = "9.26.0" },
		"another class":    func(a *profile.Answerer, _ *profile.Call) { a.Class = "sm86" },
		"another library":  func(a *profile.Answerer, _ *profile.Call) { a.Library = "cublas" },
		"direction":        func(_ *profile.Answerer, c *profile.Call) { c.Direction = "dgrad" },
		"dtype":            func(_ *profile.Answerer, c *profile.Call) { c.DType = "float16" },
		"batch":            func(_ *profile.Answerer, c *profile.Call) { c.Input[0] = 2 },
		"input layout":     func(_ *profile.Answerer, c *profile.Call) { c.InputStrides = []int64{150528, 1, 672, 3} },
		"weight layout":    func(_ *profile.Answerer, c *profile.Call) { c.WeightStrides = []int64{147, 1, 21, 3} },
		"padding":          func(_ *profile.Answerer, c *profile.Call) { c.Padding[1] = 2 },
		"stride":           func(_ *profile.Answerer, c *profile.Call) { c.Stride[0] = 1 },
		"dilation":         func(_ *profile.Answerer, c *profile.Call) { c.Dilation[0] = 2 },
		"groups":           func(_ *profile.Answerer, c *profile.Call) { c.Groups = 3 },
		"deterministic":    func(_ *profile.Answerer, c *profile.Call) { c.Deterministic = true },
		"tf32 not allowed": func(_ *profile.Answerer, c *profile.Call) { c.AllowTF32 = false },
		"benchmark":        func(_ *profile.Answerer, c *profile.Call) { c.Benchmark = true },
	} {
		by, c := sm89, conv1()
		change(&by, &c)
		_, ok := p.Lookup(by, &c)
		assert.False(t, ok, "%s is part of the key", why)
	}
	_, ok = (*profile.Profile)(nil).Lookup(sm89, &call)
	assert.False(t, ok, "no profile has no entries")
}

func TestWrittenReadsBackAndIsSorted(t *testing.T) {
	var first string
	for _, order := range [][]int64{{8, 1, 32}, {32, 8, 1}} {
		p := &profile.Profile{}
		for _, batch := range order {
			for _, class := range []string{"sm89", "sm80", "sm75-large"} {
				c := conv1()
				c.Input[0] = batch
				by := sm89
				by.Class = class
				require.NoError(t,
					p.Add(by, profile.Entry{Call: c, Answer: profile.Answer{Bytes: units.Bytes(batch) * 512, Engine: 38}}))
			}
		}
		var b bytes.Buffer
		_, err := p.WriteTo(&b)
		require.NoError(t, err)
		back, err := profile.Parse(b.Bytes())
		require.NoError(t, err)
		assert.Empty(t, cmp.Diff(p.Groups(), back.Groups()))
		if first == "" {
			first = b.String()
		}
		assert.Equal(t, first, b.String(), "the order of adding does not show")
	}
}

func TestEntriesThatContradictOneAnother(t *testing.T) {
	p := &profile.Profile{}
	entry := profile.Entry{Call: conv1(), Answer: profile.Answer{Bytes: 1, Engine: 38}}
	require.NoError(t, p.Add(sm89, entry))
	require.NoError(t, p.Add(sm89, entry), "the same again")
	assert.Len(t, p.Groups()[0].Entries, 1)
	err := p.Add(sm89, profile.Entry{Call: conv1(), Answer: profile.Answer{Bytes: 9, Engine: 0}})
	require.EqualError(t, err, "got two answers of cudnn 9.10.2 for sm89 to conv forward float32 1,3,224,224 "+
		"150528,50176,224,1 64,3,7,7 147,49,7,1 3,3 2,2 1,1 1 tf32: "+
		"1 B of engine 38 and 9 B of engine 0")
	call := conv1()
	got, _ := p.Lookup(sm89, &call)
	assert.Equal(t, units.Bytes(1), got.Bytes, "what was there stays")
}

func TestStandInIsTheNearestVersionOfTheClass(t *testing.T) {
	p := &profile.Profile{}
	for i, by := range []profile.Answerer{
		{Library: "cudnn", Version: "9.26.0", Class: "sm89"}, {Library: "cudnn", Version: "9.8.0", Class: "sm89"},
		{Library: "cudnn", Version: "9.10.2", Class: "sm89"},
		{Library: "cudnn", Version: "9.2.0", Class: "sm86"}, {Library: "other", Version: "9.1.1", Class: "sm89"},
	} {
		require.NoError(t, p.Add(by, profile.Entry{Call: conv1(), Answer: profile.Answer{Bytes: units.Bytes(i)}}))
	}
	call := conv1()
	for _, c := range []struct{ version, want, why string }{
		{"9.1.0", "9.8.0", "9.10 is newer than 9.8: numbers, not text"},
		{"8.9.2", "9.8.0", "of another major release the oldest"},
		{"9.9.0", "9.8.0", "of two as near, the older"},
		{"9.20.0", "9.26.0", ""},
		{"9.18.1", "9.10.2", "of two as near in the part that differs, the older"},
		{"9.26.0", "9.10.2", "itself is no stand-in"},
	} {
		_, got, ok := p.StandIn(profile.Answerer{Library: "cudnn", Version: c.version, Class: "sm89"}, &call)
		require.True(t, ok)
		assert.Equal(t, profile.Answerer{Library: "cudnn", Version: c.want, Class: "sm89"}, got, "%s: %s", c.version, c.why)
	}
	_, _, ok := p.StandIn(profile.Answerer{Library: "cudnn", Version: "9.1.0", Class: "sm80"}, &call)
	assert.False(t, ok, "another class is another plan")
	call.Groups = 3
	_, _, ok = p.StandIn(sm89, &call)
	assert.False(t, ok, "nobody was asked")
	_, _, ok = (*profile.Profile)(nil).StandIn(sm89, &call)
	assert.False(t, ok)
}

func TestParseRefuses(t *testing.T) {
	entry :=
		`{"op":"conv","direction":"forward","dtype":"float32","input":[1,3,8,8],"input_strides":[192,64,8,1],"weight":[4,3,3,3],"weight_strides":[27,9,3,1],` +
			`"padding":[1,1],"stride":[1,1],"dilation":[1,1],"groups":1,"bytes":16,"engine":38}`
	file := func(entries ...string) string {
		return `{"schema":1,"groups":[{"library":"cudnn","version":"9.10.2","class":"sm89","entries":[` +
			strings.Join(entries, ",") + `]}]}`
	}
	_, err := profile.Parse([]byte(file(entry, entry)))
	require.NoError(t, err, "one entry twice is one entry")
	for _, c := range []struct{ name, in, want string }{
		{"empty", ``, "not a workspace profile: unexpected end of JSON input"},
		{"no schema", `{}`, "got a workspace profile without a schema, want 1"},
		{"another schema", `{"schema": 2, "anything": 1}`, "got a workspace profile of schema 2, want 1: make it again " +
			"with this version"},
		{"unknown key", `{"schema": 1, "group": []}`, `not a workspace profile: json: unknown field "group"`},
		{"two documents", file(entry) + "{}", "not a workspace profile: invalid character '{' after top-level value"},
		{"contradiction", file(entry, strings.Replace(entry, `"bytes":16`, `"bytes":17`, 1)),
			"groups[0].entries[1]: got two answers of cudnn 9.10.2 for sm89 to conv forward float32 1,3,8,8 192,64,8,1 " +
				"4,3,3,3 27,9,3,1 1,1 1,1 1,1 1: 16 B of engine 38 and 17 B of engine 38"},
		{"negative", file(strings.Replace(entry, `"bytes":16`, `"bytes":-1`, 1)), "groups[0].entries[0]: got -1 B, want 0 " +
			"or more"},
		{"most", file(strings.Replace(entry, `"engine":38`, `"engine":38,"most":15`, 1)),
			"groups[0].entries[0]: got 15 B at the most, want at least the 16 B of the first choice"},
		{"direction", file(strings.Replace(entry, "forward", "sideways", 1)),
			`groups[0].entries[0]: got direction "sideways", want forward, dgrad or wgrad`},
		{"operator", file(strings.Replace(entry, `"conv"`, `"sdpa"`, 1)), `groups[0].entries[0]: got op "sdpa", want conv`},
		{"dtype", file(strings.Replace(entry, `"float32"`, `""`, 1)), "groups[0].entries[0]: got no dtype, want PyTorch's " +
			"name of one"},
		{"rank", file(strings.Replace(entry, `"input":[1,3,8,8]`, `"input":[8,8]`, 1)),
			"groups[0].entries[0]: got an input of 2 sizes, want 3 to 5"},
		{"strides", file(strings.Replace(entry, `[192,64,8,1]`, `[192]`, 1)), "groups[0].entries[0]: got input_strides, " +
			"weight and weight_strides of 1, 4 and 4 numbers, want 4 each"},
		{"padding", file(strings.Replace(entry, `"padding":[1,1]`, `"padding":[1]`, 1)),
			"groups[0].entries[0]: got padding, stride and dilation of 1, 2 and 2 numbers, want 2 each"},
		{"groups", file(strings.Replace(entry, `"groups":1`, `"groups":0`, 1)), "groups[0].entries[0]: got groups 0, want " +
			"1 or more"},
		{"class", strings.Replace(file(entry), "sm89", "RTX 4090", 1),
			`groups[0].entries[0]: got answerer "cudnn" "9.10.2" "RTX 4090", want one such as cudnn 9.10.2 sm89`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := profile.Parse([]byte(c.in))
			require.EqualError(t, err, c.want)
			assert.Nil(t, p)
		})
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memspec.workspace.json")
	_, err := profile.Load(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = profile.Load(filepath.Dir(path))
	require.EqualError(t, err, "open "+filepath.Dir(path)+": got a folder, want a regular file")
	if _, none := os.Stat(os.DevNull); none == nil {
		_, err = profile.Load(os.DevNull)
		require.EqualError(t, err, "open "+os.DevNull+": got a device, want a regular file",
			"a pipe or a device may have no end")
	}
	require.NoError(t, os.WriteFile(path, []byte(`{"schema": 7}`), 0o600))
	_, err = profile.Load(path)
	require.EqualError(t, err, path+": got a workspace profile of schema 7, want 1: make it again with this version")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"schema":1,"groups":[]}`))
	f.Add(
		[]byte(
			`{"schema":1,"groups":[{"library":"cudnn","version":"9.10.2","class":"sm89","entries":[{"op":"conv","direction":"forward","dtype":"float32",` +
				`"input":[1,3,8],"input_strides":[24,8,1],"weight":[4,3,3],"weight_strides":[9,3,1],"padding":[1],"stride":[1],"dilation":[1],"groups":1,"bytes":16,"engine":38}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := profile.Parse(data)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if _, err := p.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		back, err := profile.Parse(b.Bytes())
		if err != nil {
			t.Fatalf("written profile does not read back: %v\n%s", err, b.String())
		}
		if d := cmp.Diff(p.Groups(), back.Groups()); d != "" {
			t.Fatal(d)
		}
	})
}

// TestBefore: a profile is asked first, then the one behind it; neither changes.
func TestBefore(t *testing.T) {
	call, other := conv1(), conv1()
	other.Groups = 3
	of := func(bytes units.Bytes, calls ...profile.Call) *profile.Profile {
		p := &profile.Profile{}
		for _, c := range calls {
			require.NoError(t, p.Add(sm89, profile.Entry{Call: c, Answer: profile.Answer{Bytes: bytes}}))
		}
		return p
	}
	first, behind := of(1, call), of(2, call, other)
	both := first.Before(behind)
	for c, want := range map[*profile.Call]units.Bytes{&call: 1, &other: 2} {
		got, ok := both.Lookup(sm89, c)
		assert.True(t, ok)
		assert.Equal(t, want, got.Bytes)
		by := sm89
		by.Version = "9.11.0"
		got, who, ok := both.StandIn(by, c)
		assert.True(t, ok)
		assert.Equal(t, sm89, who)
		assert.Equal(t, want, got.Bytes)
	}
	assert.Equal(t, first.Groups(), both.Groups())
	_, ok := first.Lookup(sm89, &other)
	assert.False(t, ok)
	assert.Same(t, behind, (*profile.Profile)(nil).Before(behind))
	assert.Same(t, behind, behind.Before(behind))
	assert.Nil(t, (*profile.Profile)(nil).Groups())
}

// TestParseRefusesMuch: a profile has at most 64 MiB.
func TestParseRefusesMuch(t *testing.T) {
	_, err := profile.Parse(make([]byte, 64<<20+1))
	assert.EqualError(t, err, "got a workspace profile of 67108865 bytes, want at most 67108864")
}
