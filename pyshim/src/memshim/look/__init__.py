"""Who takes the memory: by source line, between two lines, by layer."""
