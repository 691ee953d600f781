package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/memspec/memspec/engine/spec"
)

// sidecarSuffix names the file beside an artifact that tells the inputs it was exported with: {"inputs": ["x=float32[1,3,224,224]"]}.
const sidecarSuffix = ".inputs.json"

// maxSidecar bounds it: inputs are a few lines.
const maxSidecar = 1 << 20

// SidecarInputs reads the inputs that were written beside an artifact when it was exported; none where there is no such file.
func SidecarInputs(artifact string) ([]spec.Input, error) {
	path := artifact + sidecarSuffix
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > maxSidecar {
		return nil, fmt.Errorf("%s: got %d bytes, want at most %d", path, info.Size(), maxSidecar)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Inputs []string `json:"inputs"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := make([]spec.Input, len(file.Inputs))
	for i, s := range file.Inputs {
		if out[i], err = spec.ParseInput(s); err != nil {
			return nil, fmt.Errorf("%s: inputs[%d] %s: %w", path, i, s, err)
		}
	}
	return out, nil
}
