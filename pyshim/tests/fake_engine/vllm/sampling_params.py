from types import SimpleNamespace


class SamplingParams(SimpleNamespace):
    pass
