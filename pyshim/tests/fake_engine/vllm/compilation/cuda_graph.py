import torch


class CUDAGraphWrapper:
    def __init__(self, mode):
        self.runtime_mode = mode

    def __call__(self):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            pass
        return graph
