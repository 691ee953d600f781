package format_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

func everyCase(t testing.TB) []*format.Case {
	return append(archiveCases(t, "testdata/small.txtar"), hostileCases(t)...)
}

// make test has xmllint check against testdata/junit.xsd; without it the counts are checked alone.
func TestJUnit(t *testing.T) {
	got := write(t, named(t, "junit"), format.Options{Paths: tree()}, everyCase(t)...)
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Suites   []struct {
			Tests int        `xml:"tests,attr"`
			Cases []struct{} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(got, &suites))
	assert.Equal(t, []int{8, 3, 2}, []int{suites.Tests, suites.Failures, suites.Errors},
		"tests, failures, errors; what was held against nothing is no test")
	sum := 0
	for _, s := range suites.Suites {
		assert.Len(t, s.Cases, s.Tests)
		sum += s.Tests
	}
	assert.Equal(t, suites.Tests, sum)
	lint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("got no xmllint (Debian: libxml2-utils), which holds it to testdata/junit.xsd")
	}
	path := filepath.Join(t.TempDir(), "junit.xml")
	require.NoError(t, os.WriteFile(path, got, 0o600))
	out, err := exec.Command(lint, "--noout", "--nonet", "--schema", "testdata/junit.xsd", path).CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

// Whatever the schema of SARIF would take, code scanning wants this of a result.
func TestSARIF(t *testing.T) {
	got := write(t, named(t, "sarif"), format.Options{Version: "v1.2.3", Paths: tree("model/net.py", "memspec.yaml")},
		everyCase(t)...)
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Rules []struct{ ID string }
				}
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Locations []struct {
					PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
				}
				RelatedLocations []struct {
					PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
				}
				PartialFingerprints map[string]string
			}
		}
	}
	require.NoError(t, json.Unmarshal(got, &log))
	assert.Equal(t, "2.1.0", log.Version)
	require.Len(t, log.Runs, 1)
	run := log.Runs[0]
	prints, related := map[string]bool{}, 0
	for _, r := range run.Results {
		assert.Equal(t, r.RuleID, run.Tool.Driver.Rules[r.RuleIndex].ID)
		require.Len(t, r.Locations, 1)
		assert.NotRegexp(t, `^/|\\|%2F|[ \n]`, r.Locations[0].PhysicalLocation.ArtifactLocation.URI,
			"relative, forward slashes, a URI")
		assert.False(t, prints[r.PartialFingerprints["primaryLocationLineHash"]], "each result its own")
		prints[r.PartialFingerprints["primaryLocationLineHash"]] = true
		for _, l := range r.RelatedLocations {
			related++
			assert.Equal(t, "model/net.py", l.PhysicalLocation.ArtifactLocation.URI, "a file of the repository only")
		}
	}
	assert.Len(t, run.Results, 7)
	assert.Equal(t, 0, related, "the peak of small.txtar is in an installed package")

	path := os.Getenv("MEMSPEC_SARIF_SCHEMA")
	if path == "" {
		t.Skip("MEMSPEC_SARIF_SCHEMA names no file with the schema of SARIF 2.1.0; make formats does")
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	text = text[bytes.IndexByte(text, '{') : bytes.LastIndexByte(text, '}')+1] // it may stand in a Go file
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("sarif.json", doc))
	schema, err := c.Compile("sarif.json")
	require.NoError(t, err)
	for _, document := range [][]byte{got, write(t, named(t, "sarif"), format.Options{})} {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
		require.NoError(t, err)
		assert.NoError(t, schema.Validate(value))
	}
}

// The line of the model at the peak stands beside a result where the file is the repository's,
// wherever the artifact was exported.
func TestSARIFPointsToTheModel(t *testing.T) {
	cases := archiveCases(t, "testdata/small.txtar")[:1]
	cases[0].Report.PeakAt.File, cases[0].Report.PeakAt.Line = "/build/7/repo/model/net.py", 21
	got := string(write(t, named(t, "sarif"), format.Options{Paths: tree("model/net.py")}, cases...))
	assert.Contains(t, got, `"uri": "model/net.py"`)
	assert.Contains(t, got, `"startLine": 21`)
	got = string(write(t, named(t, "sarif"), format.Options{Paths: tree("net.py")}, cases...))
	assert.NotContains(t, got, "relatedLocations")
}

func many(n int, o verdict.Outcome) []*format.Case {
	limit, size := units.MiB, 2*units.MiB
	var out []*format.Case
	for i := range n {
		c := &format.Case{Name: fmt.Sprintf("model[B=%d]", i), Judged: true, Outcome: o, Line: "a line",
			Pos: verdict.Pos{File: "memspec.yaml", Line: i + 1}}
		c.Figures = []format.Figure{{Metric: report.Allocated, Outcome: o, Limit: &limit, Predicted: &size}}
		if o != verdict.Pass {
			c.Findings = []format.Finding{{Rule: format.BudgetRule(report.Allocated), Outcome: o, Metric: report.Allocated,
				Text: "over"}}
		}
		out = append(out, c)
	}
	return out
}

func TestMarkdownKeepsItsLimit(t *testing.T) {
	all := append(many(2000, verdict.Fail), many(3000, verdict.Pass)...)
	got := string(write(t, named(t, "markdown"), format.Options{}, all...))
	assert.LessOrEqual(t, len(got), 65000)
	assert.Greater(t, len(got), 60000)
	assert.True(t, strings.HasPrefix(got, "### memspec: 2000 fail, 3000 pass\n"), "all are counted")
	assert.Regexp(t, `Not shown, for this is as long as it may be: \d+ rows, 2000 accounts\.\n$`, got)
	assert.Equal(t, strings.Count(got, "<details>"), strings.Count(got, "</details>"))

	got = string(write(t, named(t, "markdown"), format.Options{Most: 4000}, all[2000-30:2000+30]...))
	assert.LessOrEqual(t, len(got), 4000)
	assert.NotContains(t, string(write(t, named(t, "markdown"), format.Options{}, all[:10]...)), "Not shown")
}

func TestSARIFKeepsItsLimit(t *testing.T) {
	golden.NeedsWhole(t, "25,000 results")
	all := append(many(300, verdict.Warn), many(25000, verdict.Fail)...)
	assert.NotContains(t, string(write(t, named(t, "sarif"), format.Options{}, all[300:]...)), "left out",
		"so many are taken")
	var b bytes.Buffer
	w := named(t, "sarif").New(&b, format.Options{})
	for _, c := range all {
		require.NoError(t, w.Case(c))
	}
	require.NoError(t, w.End(&format.Summary{Exit: 1}))
	var log struct {
		Runs []struct {
			Results     []struct{ Level string }
			Invocations []struct {
				ToolExecutionNotifications []struct{ Message struct{ Text string } }
			}
		}
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &log))
	assert.Len(t, log.Runs[0].Results, 25000)
	assert.Equal(t, "error", log.Runs[0].Results[24999].Level, "warnings go first")
	assert.Equal(t, "got 25300 results, code scanning takes 25000: 300 are left out",
		log.Runs[0].Invocations[0].ToolExecutionNotifications[0].Message.Text)
}

func TestAnnotationsWorstFirst(t *testing.T) {
	all := append(many(1, verdict.Warn), many(2, verdict.Fail)...)
	worse := 5 * units.MiB
	all[2].Figures[0].Predicted = &worse
	got := string(write(t, named(t, "github"), format.Options{}, all...))
	_, annotations, _ := strings.Cut(got, "::\n::")
	assert.Equal(t, "error file=memspec.yaml,line=2,title=model[B=1]%3A fail::over\n"+
		"::error file=memspec.yaml,line=1,title=model[B=0]%3A fail::over\n"+
		"::warning file=memspec.yaml,line=1,title=model[B=0]%3A warn::over\n", annotations)
}
