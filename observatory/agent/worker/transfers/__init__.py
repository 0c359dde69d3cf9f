"""What a worker got from others, sent to them and spilled."""
