"""The Python side of memspec. It estimates nothing: the memspec binary does, and this package speaks its JSON.

run    a case or a region of code is run, and what it takes is recorded
look   who took it: by line, between two lines, by layer
pretend  a GPU that is not there
judge  budgets: memspec.yaml's cases, marks on tests
workspace  what cuDNN answers about its workspace
"""

from memshim import pretend
from memshim.look.modelsize import modelsize
from memshim.look.profile import Profiler
from memshim.look.trace import trace
from memshim.look.track import Tracker, clear_cache, track
from memshim.moved import keep_old_paths
from memshim.run.export import export

keep_old_paths()

__all__ = ["Profiler", "Tracker", "clear_cache", "export", "modelsize", "pretend", "trace", "track"]
