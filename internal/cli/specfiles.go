package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/spec"
)

// specNames are what a file of cases is called, the first by default.
var specNames = []string{"memspec.yaml", "memspec.yml"}

// SpecFiles are the files of cases that arguments name: files, folders with all beneath them, and
// patterns that no shell has taken. Without an argument it is the working directory's, or that of
// the nearest folder above it within the repository.
func SpecFiles(args []string) ([]string, error) {
	if len(args) == 0 {
		path, err := nearestSpec()
		return []string{path}, err
	}
	var out []string
	for _, arg := range args {
		found, err := specsOf(arg)
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			if !slices.Contains(out, path) {
				out = append(out, path)
			}
		}
	}
	return out, nil
}

// SpecFile is the one file that at most one argument names.
func SpecFile(args []string) (string, error) {
	files, err := SpecFiles(args)
	if err != nil {
		return "", err
	}
	if len(files) > 1 {
		return "", fmt.Errorf("got %d files of cases, such as %s and %s, want one", len(files), files[0], files[1])
	}
	return files[0], nil
}

// nearestSpec is the file of cases here, else of the nearest folder above within the repository.
func nearestSpec() (string, error) {
	for dir := "."; ; dir = filepath.Join(dir, "..") {
		for _, name := range specNames {
			if path := filepath.Join(dir, name); isFile(path) {
				return path, nil
			}
		}
		whole, err := filepath.Abs(dir)
		if err != nil || Exists(filepath.Join(dir, ".git")) || whole == filepath.Dir(whole) {
			return "", fmt.Errorf("%s: no such file here or above in the repository; memspec init writes one",
				specNames[0])
		}
	}
}

func specsOf(arg string) ([]string, error) {
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return specsBeneath(arg)
	case err == nil || !strings.ContainsAny(arg, "*?["):
		return []string{arg}, nil // reading it says what is wrong with it
	}
	found, err := filepath.Glob(arg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: got no file of that pattern", arg)
	}
	var out []string
	for _, path := range found {
		more, err := specsOf(path)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// specsBeneath are the files of cases in a folder and beneath it, by path. Hidden folders are left
// out, and what package managers fill.
func specsBeneath(folder string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != folder &&
			(strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata"):
			return filepath.SkipDir
		case !d.IsDir() && slices.Contains(specNames, name):
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		return nil, regular.Plain(err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: got no %s in that folder or beneath it", folder, strings.Join(specNames, " or "))
	}
	return out, nil
}

// Unreadable is a file of cases that cannot be read, and why.
type Unreadable struct {
	File string
	Err  error
}

// LoadCases reads files of cases and keeps those that patterns name; no pattern keeps all.
func LoadCases(files, patterns []string) ([]spec.Case, error) {
	cases, wrong, err := LoadReadable(files, patterns)
	var all spec.Errors
	for _, w := range wrong {
		var many spec.Errors
		if !errors.As(w.Err, &many) {
			return nil, w.Err
		}
		all = append(all, many...)
	}
	if len(all) > 0 {
		return nil, all
	}
	return cases, err
}

// LoadReadable is loadCases of the files that can be read, and says which cannot.
func LoadReadable(files, patterns []string) (cases []spec.Case, wrong []Unreadable, err error) {
	for _, file := range files {
		cs, err := spec.Load(file)
		if err != nil {
			wrong = append(wrong, Unreadable{file, regular.Plain(err)})
		}
		cases = append(cases, cs...)
	}
	cases, err = named(files, patterns, cases)
	return cases, wrong, err
}

// named keeps the cases that patterns name; no pattern keeps all.
func named(files, patterns []string, cases []spec.Case) ([]spec.Case, error) {
	if len(patterns) == 0 {
		return cases, nil
	}
	keep := make([]bool, len(cases))
	for _, p := range patterns {
		if !selectCases(cases, p, keep) {
			return nil, noCase(strings.Join(files, ", "), p, cases)
		}
	}
	var out []spec.Case
	for i := range cases {
		if keep[i] {
			out = append(out, cases[i])
		}
	}
	return out, nil
}

// Readable are the files that can be read.
func Readable(files []string, wrong []Unreadable) []string {
	return slices.DeleteFunc(slices.Clone(files), func(file string) bool {
		return slices.ContainsFunc(wrong, func(w Unreadable) bool { return w.File == file })
	})
}

// CasesOf reads the one file of cases that arguments name.
func CasesOf(args, patterns []string) ([]spec.Case, error) {
	file, err := SpecFile(args)
	if err != nil {
		return nil, err
	}
	return LoadCases([]string{file}, patterns)
}
