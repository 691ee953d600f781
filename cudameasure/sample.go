package cudameasure

import (
	"bufio"
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/memspec/memspec/engine/units"
)

// sampleEvery is how often the devices are asked.
const sampleEvery = 100 * time.Millisecond

// sample watches every device until the returned function is called, which tells what was seen by UUID; nil where nvidia-smi does not answer. One
// nvidia-smi tells all the time: no context is made to ask, and no process is started for a sample.
func (t *Tools) sample(ctx context.Context) func() map[string]*Sampled {
	seen, err := t.inUse(ctx)
	if err != nil {
		return func() map[string]*Sampled { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, t.SMI, append(query(usedFields), "-lms", strconv.FormatInt(sampleEvery.Milliseconds(), 10))...)
	cmd.Env = unhidden()
	endGroup(cmd)
	cmd.WaitDelay = time.Second
	told, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return func() map[string]*Sampled { return seen }
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(told); lines.Scan(); {
			if uuid, b, ok := usedRow(lines.Text()); ok && seen[uuid] != nil {
				s := seen[uuid]
				s.Most = max(s.Most, b)
				s.Samples++
			}
		}
	}()
	return func() map[string]*Sampled {
		cancel()
		<-done
		_ = cmd.Wait() // it was ended
		return seen
	}
}

const usedFields = "uuid,memory.used"

// inUse is the device memory in use by every process, by UUID. A device that does not tell is left out.
func (t *Tools) inUse(ctx context.Context) (map[string]*Sampled, error) {
	rows, err := t.query(ctx, usedFields)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]*Sampled, len(rows))
	for _, r := range rows {
		if uuid, b, ok := usedRow(strings.Join(r, ",")); ok {
			seen[uuid] = &Sampled{UUID: uuid, Before: b, Most: b, Samples: 1}
		}
	}
	return seen, nil
}

func usedRow(line string) (uuid string, used units.Bytes, ok bool) {
	uuid, cell, _ := strings.Cut(line, ",")
	b, err := mebibytes(strings.TrimSpace(cell))
	return strings.TrimSpace(uuid), b, err == nil
}

// mostRisen is the device that the case ran on: the one whose memory rose the most, nil where none did.
func mostRisen(seen map[string]*Sampled) *Sampled {
	var most *Sampled
	for _, s := range seen {
		if s.Rise() > 0 && (most == nil || s.Rise() > most.Rise() || s.Rise() == most.Rise() && s.UUID < most.UUID) {
			most = s
		}
	}
	return most
}
