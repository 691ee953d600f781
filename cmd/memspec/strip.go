package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/internal/cli"
)

func newStrip() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "strip IN -o OUT",
		Short: "Write an archive without its weight bytes, small enough to commit",
		Long: `Write the archive without the bytes of its weights. It gives the same report, to the byte, and cannot be run any more.
Records of at most 4 KiB are kept: traced code computes shapes with them.`,
		Example: `  memspec strip model.pt -o testdata/model.pt`,
		Args:    cli.WantArgs(1, 1, "one archive IN"),
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the `FILE` to write (required)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if out == "" {
			return errors.New("strip: got no -o OUT, want the file to write")
		}
		before, err := os.Stat(args[0])
		if err != nil {
			return regular.Plain(err)
		}
		if err := artifact.Strip(args[0], out); err != nil {
			return err
		}
		after, err := os.Stat(out)
		if err != nil {
			return regular.Plain(err)
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, was %s\n", out, units.Bytes(after.Size()),
			units.Bytes(before.Size()))
		return err
	}
	return cmd
}
