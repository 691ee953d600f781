"""Calls written by hand, one module a domain: what PyTorch's own tests lack."""
