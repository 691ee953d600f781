package cli

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/memspec/memspec/engine/format"
)

// RepositoryPaths are the paths of the repository that the working directory lies in, else of the
// working directory itself.
var RepositoryPaths = sync.OnceValue(func() format.Paths {
	dir, err := os.Getwd()
	if err != nil {
		return format.Paths{}
	}
	root := dir
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil { // a folder, or a file in a worktree
			root = at
			break
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	below, err := filepath.Rel(root, dir)
	if err != nil {
		return format.Paths{}
	}
	return format.Paths{Root: filepath.ToSlash(root), Dir: filepath.ToSlash(below), Exists: func(below string) bool {
		info, err := os.Stat(filepath.Join(root, filepath.FromSlash(below)))
		return err == nil && info.Mode().IsRegular()
	}}
})
