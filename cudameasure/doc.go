// Package cudameasure runs cases for real and holds what they took against what was predicted.
//
// Devices says which GPUs there are, Run measures one case with PyTorch in a fresh process and returns a Measurement, Read reads one that was
// recorded elsewhere, and Verify compares it with a report and its budgets. Everything that touches a driver is a child process with a time
// limit: cudaprobe (a program of its own, see cudaprobe/main.go) where it is built, else nvidia-smi; and Python with the package memshim. So
// this package needs no cgo, links no driver and can be imported where there is no GPU.
//
// What is measured: the peaks of PyTorch's caching allocator, by phase, and beside them what the whole device has in use, sampled. What is
// not: memory between two samples, memory of other processes (their changes during a run are indistinguishable from the run's own, so the
// context's cost is to be trusted only on an otherwise idle device), and host memory. A record made on CPU tensors says what the model's
// tensors are, never what an allocator would take: it is compared with nothing.
package cudameasure
