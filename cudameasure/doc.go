// Package cudameasure runs cases for real and compares what they took with what was predicted.
//
//	Devices   which GPUs this machine has
//	Run       measures one case: PyTorch in a fresh process, its memory sampled beside it
//	Read      reads a Measurement that was recorded elsewhere; its events and their checks are package recording's
//	Verify    compares a measurement with a prediction and its budgets; package verify makes the whole account of it
//
// # Who is asked
//
// Everything that touches a driver is a child process with a time limit, so this package needs no
// cgo, links no driver and can be imported where there is no GPU. Devices asks cudaprobe where it
// is built (cudaprobe/build.sh; found by MEMSPEC_CUDAPROBE, beside this program, on PATH), else
// nvidia-smi; both give the same values. Run asks Python with torch and memshim (MEMSPEC_PYTHON,
// else python3 on PATH). What can be wrong is typed: ErrNoDriver, ErrNoDevice, ErrOldDriver,
// ErrDriver, ErrHangs; ErrNoPython, ErrCase, ErrNothing, ErrModel.
//
// # What is measured
//
// The peaks of PyTorch's caching allocator, by phase (baseline, first pass, steady pass), with its
// events; and beside them what the whole device has in use, sampled every tenth of a second. The
// context's cost is the process's memory outside the allocator: as the process itself saw it, else
// by the samples. A record made on CPU tensors says what the model's tensors are, never what an
// allocator would take: it is compared with nothing.
//
// # What is not
//
// Memory between two samples; memory of other processes, whose changes during a run cannot be
// distinguished from the run's own, so that the context's cost is to be trusted only on an
// otherwise idle device; host memory; a training step.
package cudameasure
