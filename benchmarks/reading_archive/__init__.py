"""Records that are in the archive alone, for the benchmarks archive_*.py."""
