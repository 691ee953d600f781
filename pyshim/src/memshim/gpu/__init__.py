"""What this process runs on: a GPU or the CPU, its devices, its storages, its failures."""
