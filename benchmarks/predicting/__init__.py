"""What benchmarks/what_if.py runs and predicts."""
