"""The stacks of a worker's threads, and what these use and wait for."""
