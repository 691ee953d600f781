//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/memspec/memspec/internal/cli"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Where standard output is a full disk, every command that prints ends with 2 and says so; where
// its reader is gone, as every program does; and a file that does not fit is not left as half of
// one.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("got no /dev/full")
	}
	defer full.Close()
	own, err := os.Executable()
	require.NoError(t, err)
	memspec := filepath.Join(t.TempDir(), "memspec")
	require.NoError(t, os.Symlink(own, memspec))
	dir := badFolder(t)
	estimate := []string{"good.pt", "--input", "float32[B,3,32,32]", "--device", "t4"}
	for _, args := range [][]string{
		{"check", "good.yaml"}, {"check", "good.yaml", "-q"}, {"check", "good.yaml", "--format", "json"},
		{"check", "good.yaml", "--format", "github"}, {"check", "good.yaml", "--format", "html"},
		append([]string{"estimate", "--dim", "B=2"}, estimate...),
		append([]string{"explain", "--dim", "B=2", "--format", "snapshot"}, estimate...),
		append([]string{"fit", "--dim", "B", "--most", "4"}, estimate...),
		append([]string{"sweep", "--dim", "B=1..4"}, estimate...),
		{"fit", "m", "good.yaml", "--dim", "B", "--devices", "t4", "--most", "4"},
		{"fit", "m", "good.yaml", "--dim", "B", "--devices", "t4", "--most", "4", "--format", "json"},
		append([]string{"init", "--dim", "B=2"}, estimate...),
		append([]string{"dump", "--dim", "B=2", "--stage", "trace"}, estimate...), {"explain", "good.yaml", "--case", "m"},
		{"baseline", "good.yaml", "-o", "b.json"}, {"update", "-n", "good.yaml"},
		{"cases", "good.yaml"}, {"cases", "good.yaml", "--format", "json"}, {"workspace", "good.yaml"}, {"devices"},
		{"devices", "--format", "json"}, {"ops"}, {"ops", "--missing", "good.pt"}, {"schema", "spec"}, {"version"},
		{"completion", "bash"},
		{"verify", "good.yaml", "--measured", "measured"}, {"--help"}, {"check", "--help"},
	} {
		cmd := exec.Command(memspec, args...)
		cmd.Dir = dir
		cmd.Stdout = full
		var errs bytes.Buffer
		cmd.Stderr = &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if !assert.True(t, errors.As(err, &exit), "%v: got exit 0", args) {
			continue
		}
		assert.Equal(t, cli.ExitUsage, exit.ExitCode(), args)
		oneClearLine(t, errs.String(), "no space left on device")

		read, write, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, read.Close())
		cmd = exec.Command(memspec, args...)
		cmd.Dir = dir
		errs.Reset()
		cmd.Stdout, cmd.Stderr = write, &errs
		err = cmd.Run()
		require.NoError(t, write.Close())
		require.ErrorAs(t, err, &exit, args)
		status := exit.Sys().(syscall.WaitStatus)
		assert.True(t, status.Signaled() && status.Signal() == syscall.SIGPIPE, "%v: got %v", args, exit)
		assert.Empty(t, errs.String(), args)
	}

	// 512 or 1,024 bytes a file
	cmd := exec.Command("sh", "-c", `ulimit -f 1; exec "$0" check good.yaml -o page.html -o kept.txt`, memspec)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	err = cmd.Run()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, cli.ExitUsage, exit.ExitCode())
	oneClearLine(t, errs.String(), "-o page.html: file too large")
	left, err := filepath.Glob(filepath.Join(dir, "page*"))
	require.NoError(t, err)
	assert.Empty(t, left)
	code, stdout, stderr := runInput("check", "good.yaml", "-o", "/dev/full")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Empty(t, stdout)
	oneClearLine(t, stderr, "-o /dev/full: got no ending")
}

// Of every command that takes -o, a file that cannot be written to its end is an error that names
// it, and nothing is left of it.
func TestFilesThatDoNotFit(t *testing.T) {
	own, err := os.Executable()
	require.NoError(t, err)
	memspec := filepath.Join(t.TempDir(), "memspec")
	require.NoError(t, os.Symlink(own, memspec))
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := badFolder(t)
	copyTo(t, filepath.Join(root, "engine/recording/testdata/records/small.json"), "record.json")
	copyTo(t, filepath.Join(root, "testdata/snapshots/good.pickle"), "good.pickle")
	for file, args := range map[string][]string{
		"small.json": {"estimate", "good.pt", "--input", "float32[2,3,32,32]", "--device", "t4", "--format", "json"},
		"check.json": {"check", "good.yaml", "--format", "json"},
	} {
		_, stdout, _ := runInput(args...)
		require.NoError(t, os.WriteFile(file, []byte(stdout), 0o666))
	}
	for _, args := range [][]string{
		{"check", "good.yaml"}, {"explain", "good.yaml", "--case", "m"}, {"sweep", "m", "good.yaml", "--dim", "B=1,2"},
		{"verify", "good.yaml", "--measured", "measured"}, {"replay", "good.pickle"}, {"replay", "record.json"},
		{"diff", "small.json", "small.json"}, {"diff", "check.json", "check.json"},
		{"estimate", "good.pt", "--input", "float32[2,3,32,32]", "--device", "t4"},
	} {
		args = append([]string{"-c", `ulimit -f 0; exec "$0" "$@" -o a.json`, memspec}, args...)
		cmd := exec.Command("sh", args...)
		cmd.Dir = dir
		var errs bytes.Buffer
		cmd.Stderr = &errs
		var exit *exec.ExitError
		require.ErrorAs(t, cmd.Run(), &exit, args)
		assert.Equal(t, cli.ExitUsage, exit.ExitCode(), args)
		oneClearLine(t, errs.String(), "-o a.json: file too large")
		left, err := filepath.Glob(filepath.Join(dir, "a.json*"))
		require.NoError(t, err)
		assert.Empty(t, left, args)
	}
}
