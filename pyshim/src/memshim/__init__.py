"""The Python side of memspec. It estimates nothing: the memspec binary does, and this package speaks its JSON."""

from memshim.export import export
from memshim.profiler import Profiler
from memshim.trace import trace
from memshim.track import Tracker, modelsize, track

__all__ = ["Profiler", "Tracker", "export", "modelsize", "trace", "track"]
