package format

import (
	"cmp"
	"encoding/xml"
	"io"
	"strconv"

	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// junit writes test results: a suite a memspec.yaml, a test a case. There is no standard; what is
// written is what its readers agree on (testdata/junit.xsd). Properties carry the numbers, by the
// names that memshim's pytest plugin gives them. A case that could not be judged is an error of
// type inconclusive: a reader would count a skipped one as good. A prediction takes no time worth
// reporting, and readers want one: 0.
type junit struct {
	w      io.Writer
	o      Options
	suites []*junitSuite
}

func newJUnit(w io.Writer, o Options) Writer { return &junit{w: w, o: o} }

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Suites []*junitSuite `xml:"testsuite"`
}

type junitCounts struct {
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr"`
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Cases []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class      string          `xml:"classname,attr"`
	Name       string          `xml:"name,attr"`
	File       string          `xml:"file,attr,omitempty"`
	Line       int             `xml:"line,attr,omitempty"`
	Time       string          `xml:"time,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Failure    *junitProblem   `xml:"failure"`
	Error      *junitProblem   `xml:"error"`
	Out        *junitText      `xml:"system-out"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	junitText
}

type junitText struct {
	Text string `xml:",cdata"`
}

func (j *junit) Case(c *Case) error {
	if !c.Judged {
		return nil
	}
	file := oneLine(j.o.Paths.Named(c.Pos.File))
	class := file
	if class == "" {
		class = "memspec"
	}
	s := j.suite(class)
	t := junitCase{Class: class, Name: oneLine(c.Name), File: file, Line: c.Pos.Line, Time: "0",
		Properties: junitProperties(c)}
	account := junitText{plain(c.account())}
	problem := &junitProblem{oneLine(c.Line), c.Outcome.String(), account}
	s.Tests++
	switch c.Outcome {
	case verdict.Pass:
		if c.RestsOn != "" {
			t.Out = &junitText{oneLine(c.Line) + "\nrests on " + oneLine(c.RestsOn) + "\n"}
		}
	case verdict.Warn:
		t.Out = &account
	case verdict.Fail:
		s.Failures++
		t.Failure = problem
	default:
		s.Errors++
		t.Error = problem
	}
	s.Cases = append(s.Cases, t)
	return nil
}

func (j *junit) suite(name string) *junitSuite {
	for _, s := range j.suites {
		if s.Name == name {
			return s
		}
	}
	s := &junitSuite{Name: name, junitCounts: junitCounts{Time: "0"}}
	j.suites = append(j.suites, s)
	return s
}

func junitProperties(c *Case) []junitProperty {
	out := []junitProperty{{"memspec.outcome", c.Outcome.String()}}
	add := func(name, value string) {
		if value != "" {
			out = append(out, junitProperty{"memspec." + name, oneLine(value)})
		}
	}
	if r := c.Report; r != nil {
		add("device", r.Device)
		add("torch", r.Torch)
		add("runtime", r.Runtime)
		add("quality", string(r.Quality))
	}
	add("rests_on", c.RestsOn)
	for _, f := range c.figures() {
		for _, v := range []struct {
			kind  string
			bytes *units.Bytes
		}{{"budget.", f.Limit}, {"before.", f.Before}, {"predicted.", f.Predicted}, {"measured.", f.Measured}} {
			if v.bytes == nil {
				continue
			}
			name, moment := string(f.Metric), f.Moment
			if v.kind == "measured." {
				moment = cmp.Or(moment, "peak")
			}
			if moment != "" {
				name = moment + "." + name
			}
			add(v.kind+name, strconv.FormatInt(int64(*v.bytes), 10))
		}
	}
	return out
}

func (j *junit) End(*Summary) error {
	all := junitSuites{Name: "memspec", Suites: j.suites, junitCounts: junitCounts{Time: "0"}}
	for _, s := range j.suites {
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
	}
	if _, err := io.WriteString(j.w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(j.w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(j.w, "\n")
	return err
}
