package spec

import (
	"cmp"
	"math/big"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// budgetDecl is a budget as written. Its limit is a percentage or an expression.
type budgetDecl struct {
	metric  report.Metric
	percent *big.Rat
	limit   Expr
	text    string
	path    string
	node    *yaml.Node
}

// What budget: and at_least: take: the latter numbers of an engine that serves a model.
var (
	mostMetrics  = append(report.BudgetMetrics(), report.Loaded, report.Activation)
	leastMetrics = []report.Metric{report.KVTokens, report.Concurrency}
)

func metricNames(metrics []report.Metric) []string {
	var out []string
	for _, m := range metrics {
		out = append(out, string(m))
	}
	return out
}

// runMetrics are the metrics of a run, or of an engine that serves a model.
func runMetrics(serves bool) []report.Metric {
	if serves {
		return report.ServingMetrics()
	}
	return report.BudgetMetrics()
}

// budgetNames is how an error lists the metrics that budget: of a model takes.
func budgetNames(serves bool) string {
	metrics := slices.DeleteFunc(runMetrics(serves), report.Metric.Counts)
	return strings.Join(metricNames(metrics), ", ")
}

func (r *reader) budgets(e entry, path string) []budgetDecl {
	return r.limits(e, path+".budget.", "a budget", mostMetrics)
}

// limits reads a mapping of metrics to limits.
func (r *reader) limits(e entry, path, what string, metrics []report.Metric) []budgetDecl {
	var out []budgetDecl
	names := metricNames(metrics)
	list := strings.Join(names, ", ")
	for _, m := range r.mapping(e.val, "a mapping of "+list) {
		if !slices.Contains(metrics, report.Metric(m.name)) {
			meant := cmp.Or(meantMetric(m.name), didYouMean(m.name, names))
			if slices.Contains(report.AllMetrics(), report.Metric(m.name)) {
				meant = ": " + limitKey(report.Metric(m.name)) + ": takes it"
			}
			r.errorf(m.key, "got %s on %q, want one on %s%s", what, shorten(m.name), list, meant)
			continue
		}
		b := budgetDecl{metric: report.Metric(m.name), path: path + m.name, node: m.val}
		if r.limit(m.val, &b) {
			out = append(out, b)
		}
	}
	return out
}

// limitKey is the key that takes limits of a metric.
func limitKey(m report.Metric) string {
	if m.Counts() {
		return "at_least"
	}
	return "budget"
}

// meantMetric suggests the metric for what other tools call it.
func meantMetric(name string) string {
	switch strings.ToLower(name) {
	case "peak", "memory", "max_memory_allocated", "cuda", "gpu":
		return ": did you mean allocated (torch.cuda.max_memory_allocated)?"
	case "max_memory_reserved", "cached", "cache":
		return ": did you mean reserved (torch.cuda.max_memory_reserved)?"
	case "vram", "nvidia-smi", "device", "process":
		return ": did you mean total (what nvidia-smi shows for the process)?"
	case "params", "parameters", "model", "weight":
		return ": did you mean weights?"
	case "pinned", "pin_memory", "page_locked", "host":
		return ": did you mean host_pinned (page-locked memory of the host)?"
	case "first", "compile", "warmup", "tuning":
		return ": did you mean first_call?"
	case "activations", "forward":
		return ": did you mean delta (what the run adds)?"
	}
	return ""
}

const (
	wantLimit   = "a size such as 2GiB, a percentage such as 60% or an expression such as 98MiB + 12MiB*B"
	wantCount   = "a number such as 400000 or an expression over the dims"
	wantPercent = "a percentage such as 2%, "
)

// want is what an error says that the value of a limit may be.
func (b *budgetDecl) want() string {
	switch {
	case !b.metric.Counts():
		return wantLimit
	case b.isRegression():
		return wantPercent + wantCount
	}
	return wantCount
}

// isRegression says whether the limit is of regression:.
func (b *budgetDecl) isRegression() bool {
	return strings.HasSuffix(b.path, ".regression."+string(b.metric))
}

// limit reads the value of a limit. That of a number has no unit, and no percentage but of a
// regression.
func (r *reader) limit(n *yaml.Node, b *budgetDecl) bool {
	s, ok := r.text(n, b.want())
	if !ok {
		return false
	}
	b.text = strings.TrimSpace(s)
	if m := percentage().FindStringSubmatch(b.text); m != nil {
		b.percent, _ = new(big.Rat).SetString(m[1])
		if b.percent.Cmp(big.NewRat(100, 1)) > 0 {
			r.errorf(n, "got %s, want at most 100%%", b.text)
			return false
		}
		if b.metric.Counts() && !b.isRegression() {
			r.errorf(n, "got %s, want %s", b.text, b.want())
			return false
		}
		return true
	}
	e, err := ParseExpr(s)
	if err != nil {
		if b.text == "" {
			r.errorf(n, "got an empty text, want %s", b.want())
			return false
		}
		r.errorIn(n, exprOffset(err), err)
		return false
	}
	if b.metric.Counts() && e.HasUnit() {
		r.errorf(n, "got %s, want %s", shorten(b.text), b.want())
		return false
	}
	b.limit = e
	return true
}

// overBudgets lays budgets over lower ones, metric by metric; the order is the metrics'.
func overBudgets(lower, upper []budgetDecl) []budgetDecl {
	if len(lower)+len(upper) == 0 {
		return nil
	}
	out := make([]budgetDecl, 0, len(lower)+len(upper))
	for _, m := range report.AllMetrics() {
		is := func(b budgetDecl) bool { return b.metric == m }
		if i := slices.IndexFunc(upper, is); i >= 0 {
			out = append(out, upper[i])
		} else if i := slices.IndexFunc(lower, is); i >= 0 {
			out = append(out, lower[i])
		}
	}
	return out
}

// bindBudgets gives a case's budgets their sizes.
func (r *reader) bindBudgets(c *Case, decls []budgetDecl, level verdict.Level) {
	for _, b := range decls {
		if !r.measures(c, &b, "a budget") {
			continue
		}
		v := verdict.Budget{Metric: b.metric, Level: level, Text: b.text, Path: b.path, Pos: r.at(b.node)}
		if b.percent != nil {
			if !b.metric.OfDevice() {
				r.errorf(b.node, "got %s of %s, want a size: a share is of the device's memory", b.text, b.metric)
				continue
			}
			if c.Platform.Device.Memory == 0 {
				r.errorf(b.node, "got %s of the memory of the device %q, which has no limit: want a size", b.text,
					c.Platform.Device.Name)
				continue
			}
			v.Limit = percentOf(c.Platform.Device.Memory, b.percent)
		} else {
			size, ok := r.limitOf(c, b)
			if !ok {
				continue
			}
			v.Limit = size
		}
		c.Budgets = append(c.Budgets, v)
	}
}

// bindRegression gives a case what it may take more than before.
func (r *reader) bindRegression(c *Case, decls []budgetDecl, level verdict.Level) {
	for _, b := range decls {
		if !r.measures(c, &b, "a regression") {
			continue
		}
		g := Regression{Metric: b.metric, Percent: b.percent, Level: level, Text: b.text, Path: b.path, Pos: r.at(b.node)}
		if b.percent == nil {
			size, ok := r.limitOf(c, b)
			if !ok {
				continue
			}
			g.Bytes = size
		}
		c.Regression = append(c.Regression, g)
	}
}

// limitOf is the size that a limit of a case's budget or regression comes to.
func (r *reader) limitOf(c *Case, b budgetDecl) (units.Bytes, bool) {
	n, err := b.limit.Eval(c.Symbols())
	switch {
	case err != nil:
		r.errorIn(b.node, b.limit.Offset()+exprOffset(err), err)
	case n < 0:
		r.errorf(b.node, "got %s = %d for %s, want 0 or more", b.text, n, c.Name)
	default:
		return units.Bytes(n), true
	}
	return 0, false
}

// percentOf is a share of a size, part of a byte dropped.
func percentOf(size units.Bytes, percent *big.Rat) units.Bytes {
	share := new(big.Rat).Mul(percent, big.NewRat(int64(size), 100))
	return units.Bytes(new(big.Int).Quo(share.Num(), share.Denom()).Int64())
}

// measures says whether a run of the case has the metric of a limit, and refuses a limit of the
// model or the case where it has not. One of defaults: is of other models.
func (r *reader) measures(c *Case, b *budgetDecl, what string) bool {
	serves := c.Program.Serves()
	if slices.Contains(report.ServingMetrics(), b.metric) == serves {
		return true
	}
	switch {
	case strings.HasPrefix(b.path, pathDefaults+"."):
		return false
	case b.metric.Counts() && !b.isRegression() && !strings.HasPrefix(b.path, pathSet+"."):
		return false // checkProgram refuses at_least: of a model or a case
	}
	kind, names := "a run", budgetNames(serves)
	if serves {
		kind = "an engine (serve:)"
	}
	if b.isRegression() {
		names = strings.Join(metricNames(runMetrics(serves)), ", ")
	}
	r.errorf(b.node, "got %s on %s, want one on %s: %s has no other", what, b.metric, names, kind)
	return false
}
