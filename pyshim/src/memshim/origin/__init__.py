"""What a file was made from: sources, versions, and what the run read."""
