"""The Python side of memspec. It estimates nothing: the memspec binary does, and this package speaks its JSON."""
