"""The dispatch key at which operators come to Python, and up to which size values are computed."""

from __future__ import annotations

import torch
import torch._C as C

KEY_NAME = "CustomRNGKeyId"
KEY = C._dispatch_key_parse(KEY_NAME)
OWN = C.DispatchKeySet(KEY)
BELOW = C._dispatch_keyset_full_after(KEY)  # the backends
# it, autograd, autocast and all that
ABOVE = C._dispatch_keyset_full() - BELOW - C.DispatchKeySet(C.DispatchKey.BackendSelect)

# In elements, of arguments and of results.
KNOWN_LIMIT = 1 << 20  # what follows from known values
# what follows from chosen ones: a one-hot mask of 16,384 tokens, 8 choices and 128 experts; above,
# unknown
CHOSEN_LIMIT = 1 << 25
# what follows from unknown ones, so that checks of it (is it finite? a distribution?) go the usual
# way
UNKNOWN_LIMIT = 1 << 17
# Copies of integers from the host: ids, masks and lengths decide, images do not. And what is counted from known ones.
INTEGER_LIMIT = 1 << 24
PRODUCT_LIMIT = 1 << 24  # multiplications of a matrix product: milliseconds


class OnCPU:
    """Operators in it run on the CPU, over the bytes of the device, in one thread: results are small, and
    a second thread costs more than it saves. OpenMP's threads spin for milliseconds after each."""

    def __enter__(self) -> None:
        self.guard = C._ExcludeDispatchKeyGuard(ABOVE)
        self.guard.__enter__()
        self.threads = torch.get_num_threads()
        if self.threads > 1:
            torch.set_num_threads(1)

    def __exit__(self, *error: object) -> None:
        if self.threads > 1:
            torch.set_num_threads(self.threads)
        self.guard.__exit__(*error)
