"""A case or a region of code is run, and what it takes is recorded."""
