"""The clusters that a collector observes: which they are, what they answer, and their limits."""
