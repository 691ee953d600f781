"""One program under memshim run: its processes, and the report of what they took."""
