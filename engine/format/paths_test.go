package format_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/report"
)

func TestSourcePaths(t *testing.T) {
	repo := tree("models/unet.py", "net.py", "work/tools/a.py")
	in := repo
	in.Dir = "models"
	for _, tt := range []struct {
		p      format.Paths
		file   string
		want   string
		inTree bool
		why    string
	}{
		{repo, "/home/me/repo/models/unet.py", "models/unet.py", true, "below the repository"},
		{repo, "/home/me/repo/models/../net.py", "net.py", true, ""},
		{repo, "/home/me/repo/gone.py", "gone.py", false, "it lies there no more"},
		{repo, "/home/me/other/models/unet.py", "models/unet.py", true, "exported elsewhere: the file with its folder is " +
			"the repository's"},
		{repo, "/build/7/repo/net.py", "net.py", true, "a checkout of the same name"},
		{repo, "/build/7/other/net.py", "/build/7/other/net.py", false, "a bare name is not enough"},
		{repo, `C:\Users\me\repo\models\unet.py`, "models/unet.py", true, "another system's path"},
		{repo, "/opt/python/lib/site-packages/models/unet.py", "models/unet.py", false, "an installed package is nobody's " +
			"repository"},
		{repo, "/usr/lib/python3/dist-packages/x/y.py", "x/y.py", false, ""},
		{repo, "models/unet.py", "models/unet.py", true, "relative to the top"},
		{in, "unet.py", "models/unet.py", true, "relative to the working directory"},
		{in, "../../etc/passwd", "../../etc/passwd", false, "out of the repository"},
		{repo, "<string>", "<string>", false, ""},
		{repo, "", "", false, ""},
		{repo, "a", "a", false, "one character"},
		{repo, "net.py", "net.py", true, "a bare name that is relative"},
		{repo, "C:", "C:", false, "a drive alone"},
		{repo, "CD:/repo/net.py", "CD:/repo/net.py", false, "no drive"},
		{format.Paths{}, "/home/me/repo/net.py", "/home/me/repo/net.py", false, "no repository"},
	} {
		got, inTree := tt.p.Source(tt.file)
		assert.Equal(t, tt.want, got, "%s: %s", tt.file, tt.why)
		assert.Equal(t, tt.inTree, inTree, "%s: %s", tt.file, tt.why)
	}
}

func TestNamedPaths(t *testing.T) {
	in := tree()
	in.Dir = "models"
	for _, tt := range []struct {
		p          format.Paths
		file, want string
	}{
		{tree(), "memspec.yaml", "memspec.yaml"},
		{tree(), "./a/../memspec.yaml", "memspec.yaml"},
		{in, "memspec.yaml", "models/memspec.yaml"},
		{in, "../memspec.yaml", "memspec.yaml"},
		{in, "../../memspec.yaml", "../../memspec.yaml"}, // outside: as it was given
		{in, "/home/me/repo/a.yaml", "a.yaml"},
		{in, "/elsewhere/a.yaml", "/elsewhere/a.yaml"},
		{in, `sub\a.yaml`, "models/sub/a.yaml"},
		{in, "", ""},
		{in, "a", "models/a"},
		{in, `C:\a.yaml`, "C:/a.yaml"},
		{in, "C:a.yaml", "models/C:a.yaml"},
		{format.Paths{}, "./a.yaml", "a.yaml"},
	} {
		assert.Equal(t, tt.want, tt.p.Named(tt.file), tt.file)
	}
}

// TestReportOfPaths: every place that a report names is reported as seen from the repository, and
// the report that it is made of is left as it was.
func TestReportOfPaths(t *testing.T) {
	of := func(file string) *report.Report {
		site := report.Site{Op: "aten::relu", File: file, Line: 3}
		return &report.Report{PeakAt: &report.Moment{Site: site}, ReservedAt: &report.Moment{Site: site, Event: 1},
			Holders: []report.Holder{{Site: site, Flat: 5}},
			OOM: &report.OutOfMemory{Moment: report.Moment{Site: site, Event: 2},
				Holders: []report.Holder{{Site: site, Flat: 4}}},
			Notes:    []report.Note{{Text: "n", First: site}},
			Coverage: report.Coverage{Unsupported: []report.Unsupported{{Op: "x", First: site}}}}
	}
	r := of("/home/me/repo/net.py")
	assert.Equal(t, of("net.py"), tree("net.py").Report(r))
	assert.Equal(t, of("/home/me/repo/net.py"), r)
	assert.Equal(t, &report.Report{}, tree("net.py").Report(&report.Report{}))
}
