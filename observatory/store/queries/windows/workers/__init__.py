"""Workers of a window: which there were, on which machines and in which jobs."""
