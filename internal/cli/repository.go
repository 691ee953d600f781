package cli

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/memspec/memspec/engine/format"
)

// repositories are the paths that were found, by working directory.
var repositories sync.Map

// RepositoryPaths are the paths of the repository that the working directory lies in, else of the
// working directory itself.
func RepositoryPaths() format.Paths {
	dir, err := os.Getwd()
	if err != nil {
		return format.Paths{}
	}
	if found, ok := repositories.Load(dir); ok {
		return found.(format.Paths)
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
	below, _ := filepath.Rel(root, dir) // one leads to the other
	paths := format.Paths{Root: filepath.ToSlash(root), Dir: filepath.ToSlash(below), Exists: func(below string) bool {
		info, err := os.Stat(filepath.Join(root, filepath.FromSlash(below)))
		return err == nil && info.Mode().IsRegular()
	}}
	repositories.Store(dir, paths)
	return paths
}
