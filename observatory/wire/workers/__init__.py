"""What workers tell: their jobs of batch systems, metrics, processes, GPUs, and why they left."""
