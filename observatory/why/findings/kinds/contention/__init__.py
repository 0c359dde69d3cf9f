"""What tasks, event loops and the scheduler contend for: processor cores and the GIL."""
