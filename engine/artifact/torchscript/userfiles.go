package torchscript

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/program"
)

// This file distinguishes the user's own code from PyTorch's.

// builtinFile is what scripting names as the file of its own functions, which it puts in the place
// of an operator on a number and a tensor (torch/csrc/jit/frontend/builtin_functions.cpp).
const builtinFile = "<string>"

// isLibrary says whether a function is one of PyTorch's own modules or functions: by the class's
// name, and by the file, for a class of the user's may have inherited it.
func isLibrary(record string, body *program.Block) bool {
	return strings.HasPrefix(record, codeFolder+"__torch__/torch/") || isPyTorchFile(firstFile(body))
}

// isPyTorchFile knows PyTorch's files as installed or checked out.
func isPyTorchFile(file string) bool {
	return strings.Contains(file, "-packages/torch/") || strings.Contains(file, "/torch/nn/modules/") ||
		strings.HasSuffix(file, "/torch/nn/functional.py")
}

// firstFile is the file that the first node with a source of somebody's names.
func firstFile(b *program.Block) string {
	for _, n := range b.Nodes {
		if t := n.Where.Text; t != nil && t.File != "" && t.File != builtinFile {
			return t.File
		}
	}
	return ""
}

// sourceOf is the text of a function itself: the one that most of its nodes come from. Others are
// of functions that scripting puts in the place of an attribute or of an operator on a number
// (x.shape is such a one).
func sourceOf(b *program.Block) *program.SourceText {
	type count struct {
		text *program.SourceText
		n    int
	}
	var counts []count
	var add func(b *program.Block)
	add = func(b *program.Block) {
		for _, n := range b.Nodes {
			if t := n.Where.Text; t != nil && t.File != "" {
				i := slices.IndexFunc(counts, func(c count) bool { return c.text == t })
				if i < 0 {
					i = len(counts)
					counts = append(counts, count{text: t})
				}
				counts[i].n++
			}
			for _, sub := range n.Blocks {
				add(sub)
			}
		}
	}
	add(b)
	best := count{}
	for _, c := range counts {
		if c.n > best.n {
			best = c
		}
	}
	return best.text
}
