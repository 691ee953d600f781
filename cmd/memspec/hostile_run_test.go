//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hostileMemory is what any file of at most 64 MiB may cost that is no legal model: SECURITY.md
// promises it. Its 10 s of processor time are for one machine, and others are several times slower:
// a test fails where a run did not end, after hangTime, and logs what each took.
const (
	hostileMemory = 1 << 30
	hangTime      = 100 * time.Second
)

// A limitedRun is what a command took.
type limitedRun struct {
	code   int
	out    string // what it printed, both streams
	memory int64  // bytes, at the most
	cpu    time.Duration
}

// A limited runs the command in processes with limits: this test's own binary under two names.
type limited struct{ launch, memspec string }

func newLimited(t testing.TB) limited {
	t.Helper()
	own, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	l := limited{filepath.Join(dir, "launch"), filepath.Join(dir, "memspec")}
	require.NoError(t, os.Symlink(own, l.launch))
	require.NoError(t, os.Symlink(own, l.memspec))
	return l
}

func init() { commands["launch"] = launch }

// launch runs a command and writes the most memory that it took to standard error, as the last
// line. On Linux a process counts what the process that started it had resident at that moment, and
// the tests' own process may be large. This one is small.
func launch() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(127)
	}
	fmt.Fprintf(os.Stderr, "\n%d", cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	os.Exit(cmd.ProcessState.ExitCode())
}

// run runs memspec in a folder. A process that takes far too much is ended.
func (l limited) run(t testing.TB, dir string, args ...string) limitedRun {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	limits := fmt.Sprintf(`ulimit -v 6000000; ulimit -t %d; exec "$0" "$@"`, int(hangTime.Seconds()))
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", limits, l.launch, l.memspec}, args...)...)
	cmd.Dir = dir
	// The command's own settings of the collector bound its memory, whatever a user's are.
	cmd.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT=off")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	text, memory := out.String(), ""
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text, memory = text[:i], text[i+1:]
	}
	most, err := strconv.ParseInt(memory, 10, 64)
	require.NoError(t, err, "%.500s", out.String())
	if runtime.GOOS != "darwin" {
		most <<= 10
	}
	return limitedRun{cmd.ProcessState.ExitCode(), text, most, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// within fails a test whose command panicked, printed a page, or took more than is promised.
func (r limitedRun) within(t testing.TB, name string) {
	t.Helper()
	const longestLine = 2000
	switch {
	case strings.Contains(r.out, "internal error") || strings.Contains(r.out, "goroutine "):
		t.Errorf("%s: got a panic: %.2000s", name, r.out)
	case r.code < 0 || r.code > 3:
		t.Errorf("%s: got exit code %d after %v and %d MiB, want 0 to 3: %.500s", name, r.code, r.cpu, r.memory>>20, r.out)
	case r.memory > hostileMemory:
		t.Errorf("%s: got %d MiB, want at most %d", name, r.memory>>20, int64(hostileMemory)>>20)
	case r.cpu > hangTime:
		t.Errorf("%s: got %v of processor time, want at most %v", name, r.cpu, hangTime)
	}
	if r.code == 2 {
		for line := range strings.Lines(r.out) {
			if len(line) > longestLine {
				t.Errorf("%s: got a line of %d bytes, want at most %d: %.200s…", name, len(line), longestLine, line)
			}
		}
	}
}

// heldByTests is what the process has on the heap before a command runs in it. The command's limit
// comes on top, else the collector would run all the time once other tests hold as much.
func heldByTests() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// inCommand runs the command in this process, with the collector that main sets. The memory is 0
// unless this run made the process larger than it ever was.
func inCommand(t testing.TB, args []string, out io.Writer) limitedRun {
	t.Helper()
	percent := debug.SetGCPercent(100)
	limit := debug.SetMemoryLimit(-1)
	setCollector()
	debug.SetMemoryLimit(debug.SetMemoryLimit(-1) + heldByTests())
	defer func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}()
	before := usage(t)
	code := run(args, strings.NewReader(""), out, out)
	after := usage(t)
	r := limitedRun{code: code, cpu: after.cpu - before.cpu}
	if after.memory > before.memory {
		r.memory = after.memory
	}
	return r
}
