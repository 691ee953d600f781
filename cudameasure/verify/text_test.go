package verify_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/cudameasure"
	"github.com/memspec/memspec/cudameasure/verify"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// TestAccounts: what is known of a case compared with measurements, in words and for programs:
// testdata/accounts.txt.
func TestAccounts(t *testing.T) {
	var out strings.Builder
	check := func(why string, edit func(a *verify.Account)) {
		r := *predicted(t)
		acc := &verify.Account{Result: &r, Outcome: r.Verdict.Outcome, On: recording.OnCUDA}
		edit(acc)
		fmt.Fprintf(&out, "== %s\n%s\n", why, acc.Headline())
		require.NoError(t, acc.WriteText(&out, acc.Command("out dir"), "", acc.Command("")))
		text, err := json.MarshalIndent(acc.AsJSON(), "", " ")
		require.NoError(t, err)
		fmt.Fprintf(&out, "%s\n", text)
	}
	size := func(n units.Bytes) *units.Bytes { return &n }
	of := func(where recording.Where, file string, findings ...cudameasure.Finding) verify.Compared {
		m := &cudameasure.Measurement{}
		m.Where, m.File, m.Device.Name, m.Torch, m.Case = where, file, "Tesla T4", "2.15.0+cu130", "m"
		return verify.Compared{Measured: m, Comparison: &cudameasure.Comparison{Where: where, Findings: findings,
			Rows: []cudameasure.Row{{Phase: "peak", Metric: report.Allocated, Predicted: 100, Measured: 150},
				{Phase: "peak", Metric: report.Reserved, Predicted: 2 << 20, Measured: 2 << 20}}}}
	}
	over := cudameasure.Finding{Metric: report.Allocated, Text: "peak allocated measured 150 B", Under: true}
	check("nothing was measured", func(*verify.Account) {})
	check("and it is required", func(a *verify.Account) { a.Required, a.Outcome = true, verdict.Inconclusive })
	check("on a pretend GPU", func(a *verify.Account) { a.On = recording.OnPretend })
	check("and that is required", func(a *verify.Account) {
		a.On, a.Required, a.Outcome = recording.OnPretend, true, verdict.Inconclusive
	})
	check("records were left out, and this machine", func(a *verify.Account) {
		a.Skipped = []verify.Skipped{{File: "a.json", Why: "made on another device"}, {Why: "this machine\nhas none"},
			{File: "b.json", Why: "made with another torch"}}
	})
	check("as predicted", func(a *verify.Account) {
		c := of(recording.OnCUDA, "a.json")
		c.Aligned = true
		a.Compared = append(a.Compared, c)
	})
	check("as predicted on a pretend GPU", func(a *verify.Account) {
		a.On = recording.OnPretend
		a.Compared = append(a.Compared, of(recording.OnPretend, "a.json"))
	})
	check("not as predicted, here", func(a *verify.Account) {
		a.Outcome = verdict.Fail
		c := of(recording.OnCUDA, "", over, cudameasure.Finding{Metric: report.Reserved, Text: "unsure of it", Unknown: true,
			Warn: true}, cudameasure.Finding{Metric: report.Total, Text: "a warning", Warn: true})
		c.Measured.Context = size(100 << 20)
		c.Measured.Sampled = &cudameasure.Sampled{UUID: "GPU-a", Before: 10 << 20, Most: 150 << 20, Samples: 7}
		c.Aligned = true
		c.Parts = &trace.Divergence{Compared: 12, Why: "another size", AText: "  alloc a 100 ", BText: " alloc a 150"}
		a.Compared = append(a.Compared, of(recording.OnCUDA, "first.json"), c)
	})
	check("an error of the prediction", func(a *verify.Account) {
		a.Result = &suite.Result{Case: a.Case, Err: errors.New("no such\nfile"),
			Verdict: verdict.Verdict{Outcome: verdict.Error}}
		a.Outcome = verdict.Error
	})
	check("the model fails", func(a *verify.Account) {
		a.Failed, a.Outcome = errors.New("the model\nfails"), verdict.Error
	})
	check("the prediction's own outcome", func(a *verify.Account) {
		a.Verdict.Outcome, a.Verdict.Why, a.Verdict.Findings, a.Outcome = verdict.Inconclusive, []string{"nobody can say"},
			nil, verdict.Inconclusive
	})
	check("a case that stands nowhere", func(a *verify.Account) { a.Case.Pos.File = "" })
	path := filepath.Join("testdata", "accounts.txt")
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	if diff := cmp.Diff(string(want), out.String()); diff != "" && os.Getenv("MEMSPEC_UPDATE") == "1" {
		require.NoError(t, os.WriteFile(path, []byte(out.String()), 0o644))
	} else {
		require.Empty(t, diff, "MEMSPEC_UPDATE=1 go test ./cudameasure/verify writes it anew")
	}
}
