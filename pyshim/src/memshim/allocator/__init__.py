"""What an allocator did: events, blocks, the recorder of its history, snapshots, recordings."""
