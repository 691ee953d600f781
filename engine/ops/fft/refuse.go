package fft

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
)

// What PyTorch refuses though the results would have sizes (native/SpectralOps.cpp).

// windowFits wants a window as long as win_length.
func windowFits(c *ops.Call) error {
	w, length := c.T("window"), c.IntOr("win_length", c.Int("n_fft"))
	if w != nil && !slices.Equal(w.Sizes, []int64{length}) {
		return c.Errorf("got a window of %v, want %d", w.Sizes, length)
	}
	return nil
}
