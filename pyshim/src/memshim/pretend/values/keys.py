"""The dispatch key at which operators come to Python, and up to which size values are computed."""

from __future__ import annotations

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
INTEGER_LIMIT = 1 << 24  # copies of integers from the host: ids, masks and lengths decide, images do not
PRODUCT_LIMIT = 1 << 24  # multiplications of a matrix product: milliseconds
