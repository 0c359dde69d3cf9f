"""Parts of the soak: its load, its samples, and the test whether a series grows."""
