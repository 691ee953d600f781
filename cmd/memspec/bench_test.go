package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a person waits for: the largest batch of resnet50 up to 4,096, and its peaks up to there.
func BenchmarkAnswers(b *testing.B) {
	model, err := filepath.Abs("../../testdata/artifacts/torchvision/resnet50.script.pt")
	require.NoError(b, err)
	for name, args := range map[string][]string{
		"fit": {"fit", model, "--input", "float32[B,3,224,224]", "--device", "h200-sxm-141gb", "--dim", "B", "--most",
			"4096"},
		"sweep": {"sweep", model, "--input", "float32[B,3,224,224]", "--device", "h200-sxm-141gb", "--dim", "B=1..4096"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var errs strings.Builder
				require.Zero(b, run(args, strings.NewReader(""), io.Discard, &errs), errs.String())
			}
		})
	}
}
