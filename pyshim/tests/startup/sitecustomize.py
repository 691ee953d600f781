"""Of Python processes that tests start: at its end each would look once more for cycles among all
of PyTorch's objects, a quarter of a short one's processor time. Frozen, they are left where they
are; what is registered with atexit runs before this, and modules are released after it, as ever.
"""

import atexit
import gc
import sys


def freeze():
    if "triton._C.libtriton" not in sys.modules:  # which complains of each separate object that is left
        gc.freeze()


atexit.register(freeze)
