"""What open pages get of a batch after its commit."""
