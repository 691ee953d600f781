// Package assert puts GPU memory budgets into go test.
//
//	func TestMemory(t *testing.T) { assert.File(t, "memspec.yaml") }
//
// The rules, in order:
//
//  1. Nothing is executed: no GPU, no Python, no network. A case is predicted from its artifact (package engine). Only with WherePossible,
//     Required or OnPretend is it also run, by Python in a separate process (package cudameasure), and compared with its prediction.
//     OnPretend runs it on a GPU that is not there: PyTorch's own allocator, and every text says so.
//  2. A verdict is judged as memspec check does: a broken budget fails; exactly at the limit passes. With a measure the measured numbers are
//     judged too, and the two must agree within the case's tolerance.
//  3. What could not be said fails too. An operator without a rule, an unknown context cost, an artifact that cannot be read: nothing
//     passes by accident, nor does a case that was not measured where that is Required; WherePossible logs why it was not. A case may allow
//     notes (allow: in memspec.yaml), and then they do not count. Where only the likely figure of an estimate keeps a budget, the test
//     fails, unless judge: likely in memspec.yaml or the option Likely lets that figure decide.
//  4. A budget of level warn never fails: it is logged.
//  5. A failure is reported by one Errorf with the whole account: metric, predicted, budget, by how much, the line of the spec, where the peak
//     is, who holds it, what was assumed, and the commands that give it again. The test goes on.
//  6. The verdict is returned, so that plain if works beside assertions: if !memory.Case(t, c).OK() { return }. Package require ends the test.
//  7. Misuse (an unreadable spec, a tolerance that is no number) is an Errorf as well; nothing here panics or ends a test.
//
// Any t with Errorf will do: testing.T, testing.B, testify's TestingT, a fake. Helper, Name, Logf
// and Context are used where t has them. Beside testify, name one of the two imports:
//
//	import (
//		memory "github.com/memspec/memspec/assert"
//		"github.com/stretchr/testify/assert"
//	)
//
// The text of a failure is for people and may change; scripts read memspec check --format json.
package assert
