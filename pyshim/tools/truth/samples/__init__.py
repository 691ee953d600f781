"""Sample calls of ATen operators and what PyTorch does with them on fake CUDA tensors."""
