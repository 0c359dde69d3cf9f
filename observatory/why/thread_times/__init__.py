"""Where the time of a window's threads went."""
