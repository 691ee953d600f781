package assert

import (
	"strings"

	"github.com/memspec/memspec/cudameasure/verify"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/verdict"
)

// machineOf is what runs cases; nil for none.
func machineOf(how Measure) *verify.Machine {
	if how == Predict {
		return nil
	}
	return &verify.Machine{Required: how == Required || how == OnPretend, Pretend: how == OnPretend}
}

// finish reports a prediction to t, and with a machine what the run says of it: in one text,
// whatever is wrong.
func finish(t TB, r *suite.Result, machine *verify.Machine) verdict.Verdict {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	if machine == nil {
		return reportTo(t, r)
	}
	a, err := machine.Run(contextOf(t), r)
	if err != nil {
		t.Errorf("memspec: %s: the run was ended: %v", r.Case.Name, err)
		return verdict.Verdict{Outcome: verdict.Error}
	}
	v := r.Verdict
	v.Outcome = a.Outcome
	text := measuredMessage(t, a)
	switch a.Outcome {
	case verdict.Pass, verdict.Warn:
		if line := r.Caution(); line != "" {
			log(t, line)
		}
		log(t, text)
	default:
		t.Errorf("%s", text)
	}
	return v
}

// measuredMessage is the account of the prediction where it does not pass, then that of the
// comparison.
func measuredMessage(t TB, a *verify.Account) string {
	var b strings.Builder
	if a.Verdict.Outcome != verdict.Pass {
		b.WriteString(message(t, a.Result) + "\n")
	}
	if why := a.NotMeasured(); why != "" && a.Verdict.Outcome == a.Outcome && a.Failed == nil {
		return b.String() + why
	}
	var reproduce []string
	if a.Outcome != verdict.Pass {
		reproduce = []string{testCommandOf(t), a.Command("")}
	}
	_ = a.WriteText(&b, reproduce...) // a strings.Builder does not fail
	return strings.TrimRight(b.String(), "\n")
}
