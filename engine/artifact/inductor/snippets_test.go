package inductor

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/golden"
	"github.com/memspec/memspec/engine/program"
)

// TestSnippets: what pieces of a wrapper become, or why they are not read: testdata/snippets. A piece follows a line == REASON; what follows its line
// -- stands behind the function.
func TestSnippets(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "snippets", "*.txtar"), func(a *golden.Archive) {
		var out strings.Builder
		for _, piece := range strings.Split("\n"+string(a.Input("code")), "\n== ")[1:] {
			why, code, _ := strings.Cut(piece, "\n")
			code, behind, _ := strings.Cut(strings.TrimRight(code, "\n")+"\n", "--\n")
			var p *program.Program
			var err error
			if filepath.Base(a.T().Name()) == "python" {
				p, err = decodePython(pythonWrapper(code)+"\n"+behind, "w.py")
			} else {
				p, err = decodeCPP(wrapper(code)+behind, "w.cpp")
			}
			fmt.Fprintf(&out, "== %s\n", why)
			if err != nil {
				fmt.Fprintln(&out, err)
				continue
			}
			if err := program.Check(p); err != nil {
				fmt.Fprintln(&out, "check:", err)
				continue
			}
			for line := range strings.Lines(listing(a.T(), p)) {
				if strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "symbol") && !strings.HasPrefix(line, "symbol s77 ") {
					line, _, _ = strings.Cut(line, "  # ")
					fmt.Fprintln(&out, strings.TrimRight(line, "\n"))
				}
			}
		}
		a.Want("read", []byte(out.String()))
	})
}

// TestMostResults: an operator's results are told up to one more than 65536; what is told of a further one is passed over.
func TestMostResults(t *testing.T) {
	for at, told := range map[int]int{0: 1, 1 << 16: 1<<16 + 1, 1<<16 + 1: 0} {
		p, err := decodePython(pythonWrapper(fmt.Sprintf("buf0 = torch.ops.aten.f.default(arg1_1)\nbuf1 = buf0[%d]\nassert_tensor_metadata(buf1, (8, ), (1, ), torch.float16, 'torch.ops.aten.f.default')\nreturn (buf1, )", at)), "w.py")
		require.NoError(t, err)
		g, err := p.Entry.Graph()
		require.NoError(t, err)
		assert.Len(t, g.Body.Nodes[0].Told.Recorded, told)
	}
}
