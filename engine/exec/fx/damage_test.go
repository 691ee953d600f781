package fx_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact/torchexport"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/internal/testing/faults"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// changed is an archive with another text in one record.
type changed struct {
	*ptzip.Reader
	record, text string
}

func (c changed) Open(name string) (fs.File, error) {
	if name == c.record {
		return fstest.MapFS{name: {Data: []byte(c.text)}}.Open(name)
	}
	return c.Reader.Open(name)
}

func (c changed) ReadFile(name string) ([]byte, error) {
	if name == c.record {
		return []byte(c.text), nil
	}
	return c.Reader.ReadFile(name)
}

// TestDamagedPrograms holds how the small archives run when one value of their program is another
// or missing: testdata/damaged.
func TestDamagedPrograms(t *testing.T) {
	const record = "models/model.json"
	golden.Run(t, filepath.Join("testdata", "damaged", "*.txtar"), func(a *golden.Archive) {
		path := filepath.Join("..", "..", "..", "testdata", "artifacts", "exported", filepath.Base(a.T().Name())+".pt2")
		data, err := os.ReadFile(path)
		require.NoError(a.T(), err)
		z, err := ptzip.Open(bytes.NewReader(data), int64(len(data)))
		require.NoError(a.T(), err)
		text, err := z.ReadFile(record)
		require.NoError(a.T(), err)
		whole := open(a.T(), path)
		o := exec.Options{Liveness: exec.PythonFrame, Inputs: larger(a.T(), whole, 1), Platform: on(a.T(), "t4"),
			DType: tensor.Undefined}
		a.Want("runs", []byte(golden.DamageJSON(a.T(), string(text), func(text string) (string, error) {
			p, err := torchexport.Decode(changed{z, record, text})
			if err != nil || program.Check(p) != nil {
				return "", golden.ErrNothingToReport // what is refused has its own tests
			}
			r, err := exec.Run(context.Background(), fx.New(p), builtin.Table(), o)
			if err != nil {
				return "", err
			}
			return r.Trace.String(), nil
		})))
	})
}

// TestFaults runs the small archives with one call of a rule failing, then with one that has no
// rule, and with too few steps: the run must say so.
func TestFaults(t *testing.T) {
	table, err := faults.New(builtin.Table())
	require.NoError(t, err)
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "artifacts", "exported", "*.pt2"))
	require.NoError(t, err)
	tried := 0
	for _, path := range paths {
		p := open(t, path)
		for _, l := range []exec.Liveness{exec.LastUse, exec.PythonFrame} {
			o := exec.Options{Liveness: l, Inputs: larger(t, p, 0), Platform: on(t, "t4"), DType: tensor.Undefined}
			run := func(n int, err error) (*exec.Result, error) {
				table.Fail(n, err)
				return exec.Run(context.Background(), fx.New(p), table.Table, o)
			}
			whole, err := run(0, nil)
			if err != nil || len(whole.Trace.Coverage.Unsupported) > 0 || len(whole.Trace.Notes) > 0 {
				continue
			}
			for n := min(table.Calls(), 200); n > 0; n-- {
				tried++
				_, err := run(n, faults.Err)
				assert.ErrorIs(t, err, faults.Err, "%s: call %d fails", path, n)
				r, err := run(n, &ops.MissingError{Op: "test::none"})
				assert.True(t, err != nil || len(r.Trace.Coverage.Unsupported) > 0, "%s: call %d has no rule", path, n)
			}
			for o.MaxSteps = 1; o.MaxSteps < 24; o.MaxSteps++ {
				r, err := run(0, nil)
				if err == nil {
					assert.Equal(t, whole.Trace.String(), r.Trace.String(), path)
					break
				}
				var limit *exec.LimitError
				assert.ErrorAs(t, err, &limit, "%s: %d steps", path, o.MaxSteps)
				assert.True(t, strings.Contains(err.Error(), "steps"), err)
			}
		}
	}
	assert.NotZero(t, tried)
}

// TestFaultsOfLoops: what fails in a loop, in its condition or where one without rounds copies what
// it carries, is an error, as are too few steps.
func TestFaultsOfLoops(t *testing.T) {
	table, err := faults.New(builtin.Table())
	require.NoError(t, err)
	for _, rounds := range []bool{false, true} {
		p := open(t, filepath.Join("..", "..", "..", "testdata", "artifacts", "exported", "loops.pt2"))
		o := exec.Options{Inputs: larger(t, p, 0), Platform: on(t, "t4"), DType: tensor.Undefined}
		g, err := p.Entry.Graph()
		require.NoError(t, err)
		if !rounds {
			find(g.Body, "higher_order::while_loop").Blocks[0].Outs[0] = program.Arg{Const: false}
		}
		run := func(n int, err error) error {
			table.Fail(n, err)
			_, err = exec.Run(context.Background(), fx.New(p), table.Table, o)
			return err
		}
		require.NoError(t, run(0, nil))
		for n := table.Calls(); n > 0 && !rounds; n-- { // with rounds both ways are run: one that fails is none
			assert.ErrorIs(t, run(n, faults.Err), faults.Err, "call %d fails", n)
		}
		var limit *exec.LimitError
		for o.MaxSteps = 1; ; o.MaxSteps++ {
			err := run(0, nil)
			if err == nil {
				break
			}
			require.ErrorAs(t, err, &limit, "%d steps", o.MaxSteps)
		}
		assert.Greater(t, o.MaxSteps, 5)
	}
}
