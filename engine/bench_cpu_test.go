//go:build unix

package engine_test

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime is what the process has spent of all processors, garbage collection included: on a
// machine that others use too, wall time lies.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A cpuMeter reports processor time an iteration: over all of them, and over the best stretch of
// them.
type cpuMeter struct {
	start, lap time.Duration
	n          int
	best       time.Duration // of stretches of lapLength
}

const lapLength = 20

func newCPUMeter() *cpuMeter {
	now := cpuTime()
	return &cpuMeter{start: now, lap: now}
}

func (m *cpuMeter) iteration() {
	if m.n++; m.n%lapLength == 0 {
		now := cpuTime()
		if d := now - m.lap; m.best == 0 || d < m.best {
			m.best = d
		}
		m.lap = now
	}
}

func (m *cpuMeter) report(b *testing.B) {
	if m.n == 0 {
		return
	}
	b.ReportMetric(float64(cpuTime()-m.start)/float64(m.n), "cpu-ns/op")
	if m.best > 0 {
		b.ReportMetric(float64(m.best)/lapLength, "best-cpu-ns/op")
	}
}
