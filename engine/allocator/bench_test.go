package allocator

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// randomTrace allocates n storages, keeping about live of them at a time, in the sizes of a
// convolutional model.
func randomTrace(n, live int) *trace.Trace {
	r := rand.New(rand.NewPCG(1, 1))
	tr := &trace.Trace{}
	var held []tensor.StorageID
	for id := range tensor.StorageID(n) {
		size := units.Bytes(r.IntN(4096) + 1)
		if r.IntN(2) == 0 {
			size = units.Bytes(r.IntN(1 << 23))
		}
		tr.Events = append(tr.Events, trace.Event{Action: trace.Alloc, Storage: id, Bytes: size, Site: trace.NoSite})
		if held = append(held, id); len(held) > live {
			i := r.IntN(len(held))
			tr.Events = append(tr.Events, trace.Event{Action: trace.FreeRequested, Storage: held[i], Site: trace.NoSite})
			held[i] = held[len(held)-1]
			held = held[:len(held)-1]
		}
	}
	return tr
}

func BenchmarkReplay(b *testing.B) {
	for _, live := range []int{4, 200} {
		b.Run(map[int]string{4: "inference", 200: "training"}[live], func(b *testing.B) {
			tr := randomTrace(1000, live)
			b.ReportAllocs()
			for b.Loop() {
				a, err := New(Config{})
				require.NoError(b, err)
				_, err = Replay(tr, a)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(tr.Events)), "ns/event")
		})
	}
}
