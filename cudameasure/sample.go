package cudameasure

import (
	"bufio"
	"cmp"
	"context"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/memspec/memspec/engine/units"
)

// sampleEvery is how often the devices are asked.
const sampleEvery = 100 * time.Millisecond

// sample watches every device until the returned function is called, which says what was seen by
// UUID; nil where nobody reports. One process reports all the time: nvidia-smi, which makes no
// context to ask, else cudaprobe by gorgonia.org/cu's MemInfo, whose context is there before the
// run.
func (t *Tools) sample(ctx context.Context) func() map[string]*Sampled {
	ctx, cancel := context.WithCancel(ctx)
	none := func() map[string]*Sampled { cancel(); return nil }
	cmd := exec.CommandContext(ctx, t.SMI, append(query(usedFields), "-lms",
		strconv.FormatInt(sampleEvery.Milliseconds(), 10))...)
	if t.SMI == "" {
		if t.Probe == "" {
			return none
		}
		cmd = exec.CommandContext(ctx, t.Probe, "-memory")
	}
	cmd.Env = unhidden()
	endGroup(cmd)
	cmd.WaitDelay = time.Second
	output, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return none
	}
	seen, began, done := map[string]*Sampled{}, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		begin := sync.OnceFunc(func() { close(began) })
		defer begin()
		for lines := bufio.NewScanner(output); lines.Scan(); {
			uuid, b, ok := usedRow(lines.Text())
			if !ok {
				continue // one that does not record
			}
			s := seen[uuid]
			if s == nil {
				s = &Sampled{UUID: uuid, Before: b, Most: b}
				seen[uuid] = s
			} else {
				begin() // each has reported once
			}
			s.Most = max(s.Most, b)
			s.Samples++
		}
	}()
	limit := time.NewTimer(cmp.Or(t.Answer, DefaultAnswer))
	defer limit.Stop()
	select {
	case <-began:
	case <-limit.C:
	}
	return func() map[string]*Sampled {
		cancel()
		<-done
		_ = cmd.Wait() // it was ended
		if len(seen) == 0 {
			return nil
		}
		return seen
	}
}

const usedFields = "uuid,memory.used"

func usedRow(line string) (uuid string, used units.Bytes, ok bool) {
	uuid, cell, _ := strings.Cut(line, ",")
	b, err := mebibytes(strings.TrimSpace(cell))
	return strings.TrimSpace(uuid), b, err == nil
}

// mostRisen is the device that the case ran on: the one whose memory rose the most, nil where none
// did.
func mostRisen(seen map[string]*Sampled) *Sampled {
	var most *Sampled
	for _, s := range seen {
		if s.Rise() > 0 && (most == nil || s.Rise() > most.Rise() || s.Rise() == most.Rise() && s.UUID < most.UUID) {
			most = s
		}
	}
	return most
}
