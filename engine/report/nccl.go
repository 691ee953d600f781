package report

import (
	"fmt"

	"github.com/memspec/memspec/engine/units"
)

// NCCL is what NCCL's communicators take, from the least to the most: both are the same where it is
// stated.
type NCCL struct {
	Low           units.Bytes `json:"low"`
	High          units.Bytes `json:"high"`
	Communicators int         `json:"communicators"` // 0 where only the size is stated
}

// text is "24.00 MiB to 1.60 GiB, by formula for 3 communicators; `nccl:` states it".
func (n *NCCL) text() string {
	many := ""
	switch n.Communicators {
	case 0:
	case 1:
		many = " for 1 communicator"
	default:
		many = fmt.Sprintf(" for %d communicators", n.Communicators)
	}
	if n.Low == n.High {
		return n.Low.String() + ", stated" + many
	}
	return fmt.Sprintf("%s to %s, by formula%s; `nccl:` states it", n.Low, n.High, many)
}

// ofDriver is what the context and NCCL take at least and at most, where that is known.
func (r *Report) ofDriver() (low, high units.Bytes) {
	if r.Context != nil {
		low, high = r.Context.Low, r.Context.High
	}
	if r.NCCL != nil {
		low, high = low.Add(r.NCCL.Low), high.Add(r.NCCL.High)
	}
	return low, high
}
