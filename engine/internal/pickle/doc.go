// Package pickle turns the bytes of a Python pickle into plain Go values, without running anything.
//
// It knows the opcodes of protocols 2 to 5 that PyTorch's two writers use: the C++ pickler of
// TorchScript archives and Python's own pickle.dump for memory snapshots. What a global, a
// reduction or a persistent id means belongs to the caller, who names in Options the few it
// understands; every other one is an error. Hostile input costs bounded time and memory and never
// panics.
//
// Values are nil, bool, int64 (uint64 where a positive integer needs it), float64, string, []byte,
// Tuple, *List, *Dict, *Set and whatever the caller's functions return. Containers may refer to
// themselves, as in Python: who walks a value must bound its own depth.
//
// Not modelled: protocols 0 and 1 (text opcodes), the extension registry, out-of-band buffers,
// integers beyond 64 bits.
package pickle
