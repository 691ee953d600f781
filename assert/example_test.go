package assert_test

import (
	"fmt"

	memory "github.com/memspec/memspec/assert"
	"github.com/memspec/memspec/engine/units"
)

// printer is a test that prints: examples have no testing.T.
type printer struct{}

func (printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// A limit on one artifact. In a test, t is the *testing.T.
func ExamplePeakAtMost() {
	var t printer
	v := memory.PeakAtMost(t, "../testdata/artifacts/small/module_list.script.pt", 1*units.MiB, "float32[2,32]")
	fmt.Println(v.Outcome)
	// Output: pass
}
