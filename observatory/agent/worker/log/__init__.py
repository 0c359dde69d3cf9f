"""The write-ahead log of a worker, and what sends its rows to the scheduler."""
