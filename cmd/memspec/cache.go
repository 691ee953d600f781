package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/memspec/memspec/engine"
)

// openCache opens the folder of --cache; nil where there is none. The program's own bytes are its version: a build of a checkout has no other.
func openCache(folder string) (*engine.Cache, error) {
	if folder == "" {
		return nil, nil
	}
	version, err := ownDigest()
	if err != nil {
		return nil, fmt.Errorf("--cache: got no version of this program: %w", err)
	}
	c, err := engine.OpenCache(folder, version)
	if err != nil {
		return nil, fmt.Errorf("--cache: %w", err)
	}
	return c, nil
}

func ownDigest() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", plainPathError(err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
