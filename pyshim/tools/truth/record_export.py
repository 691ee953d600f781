"""Makes TorchScript archives. A traced archive names the lines of this file: a change here changes them all."""

import _thread
import warnings

import torch

from record_case import Case, build


def export(case: Case, kind: str, path: str) -> None:
    """Scripts or traces the module and saves it, weights and all. The archive's root is named after the path."""
    module, inputs = build(case), case.inputs()
    made = _script(module) if kind == "script" else _alone(lambda: _trace(module, inputs))
    torch.jit.save(made, path)


def _script(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(module)


def _trace(module, inputs):
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        return torch.jit.trace(module, inputs, check_trace=False)


def _alone(work):
    """Runs the work on a separate stack: tracing writes down all callers, and the recorder is none of the model's."""
    out = []
    done = _thread.allocate_lock()
    done.acquire()

    def run():
        try:
            out.append((work(), None))
        except BaseException as error:
            out.append((None, error))
        finally:
            done.release()

    _thread.start_new_thread(run, ())
    done.acquire()
    result, error = out[0]
    if error:
        raise error
    return result
