package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// formulaAsked is a line of the input of `memspec workspace --formula`: a call on a card.
type formulaAsked struct {
	ComputeCapability string `json:"compute_capability"`
	SMs               int    `json:"sms"`
	profile.Call
}

type formulaAnswer struct {
	Bytes units.Bytes `json:"bytes"` // the likely workspace
	Upper units.Bytes `json:"upper"`
}

const mostAsked = 1 << 16 // bytes of a line

// answerByFormula answers calls, each a line of JSON, with a line of JSON each.
func answerByFormula(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, mostAsked)
	for n := 1; lines.Scan(); n++ {
		answer, err := byFormula(lines.Bytes())
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		text, _ := json.Marshal(answer) // two numbers
		if _, err := out.Write(append(text, '\n')); err != nil {
			return err
		}
	}
	return lines.Err()
}

func byFormula(line []byte) (formulaAnswer, error) {
	var asked formulaAsked
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&asked); err != nil {
		return formulaAnswer{}, fmt.Errorf("not a call of a workspace profile: %w", err)
	}
	var capability device.Capability
	n, err := fmt.Sscanf(asked.ComputeCapability, "%d.%d", &capability.Major, &capability.Minor)
	if n != 2 || err != nil {
		return formulaAnswer{}, fmt.Errorf("got compute_capability %q, want one such as 8.6", asked.ComputeCapability)
	}
	if asked.SMs < 1 {
		return formulaAnswer{}, errors.New("got no sms, want the card's number of multiprocessors")
	}
	p, _ := platform.New(device.Device{Kind: device.CUDA, ComputeCapability: capability, SMs: asked.SMs},
		platform.Newest()) // whose rules are known
	likely, upper, err := workspace.ByFormula(&p, &asked.Call)
	return formulaAnswer{likely, upper}, err
}
