"""The GPUs of a worker."""
