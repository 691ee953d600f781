package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/internal/cli"
)

// recordingName is a name that a capture gives to a recording, or to the list of a case's ranks.
var recordingName = regexp.MustCompile(`^[A-Za-z0-9_-]+-[0-9a-f]{16}(\.rank[0-9]+\.rec|\.ranks\.json|\.rec)$`)

func newPrune() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prune FILE.yaml...",
		Short: "Remove recordings of cases that are no more",
		Long: `Remove the recordings in ` + spec.CaptureFolder +
			` that no case of the files is predicted from, and print how large
the folder is. Files that share a folder are named together. Recordings of other devices
(capture --on) are removed too. Without --remove nothing is.`,
		Example: `  memspec prune memspec.yaml
  memspec prune --remove memspec.yaml`,
		Args: cobra.MinimumNArgs(1),
	}
	remove := cmd.Flags().Bool("remove", false, "remove them; without it they are listed")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cases, err := cli.LoadCases(args, nil)
		if err != nil {
			return err
		}
		folders, used := []string{}, map[string]bool{}
		for _, file := range args {
			folder := filepath.Join(filepath.Dir(file), spec.CaptureFolder)
			if !used[folder] {
				folders, used[folder] = append(folders, folder), true
			}
		}
		for i := range cases {
			for _, file := range origin.Files(&cases[i]) {
				used[filepath.Clean(file)] = true
			}
		}
		for _, folder := range folders {
			if err := prune(cmd, folder, used, *remove); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

// prune lists or removes the recordings of a folder that are not used.
func prune(cmd *cobra.Command, folder string, used map[string]bool, remove bool) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var kept, unused int
	var size, more units.Bytes
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !recordingName.MatchString(e.Name()) {
			continue
		}
		if used[path] {
			kept, size = kept+1, size+units.Bytes(info.Size())
			continue
		}
		unused, more = unused+1, more+units.Bytes(info.Size())
		verb := "unused"
		if remove {
			if err := os.Remove(path); err != nil {
				return err
			}
			verb = "removed"
		}
		if err := cli.WriteLine(cmd.OutOrStdout(),
			fmt.Sprintf("%s %s (%s)", verb, path, units.Bytes(info.Size()))); err != nil {
			return err
		}
	}
	return cli.WriteLine(cmd.OutOrStdout(), fmt.Sprintf("%s: %s in use, %s; %d of no case, %s", folder,
		cli.Plural(kept, "file"), size, unused, more))
}
