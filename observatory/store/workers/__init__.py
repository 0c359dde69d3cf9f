"""Workers: their processes, slots, tags and thresholds of memory."""
