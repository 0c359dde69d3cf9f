"""What benchmarks/figures.py records, and computes from it."""
