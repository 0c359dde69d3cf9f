"""Tasks of a window: what they need, a sample of them, and their graph."""
