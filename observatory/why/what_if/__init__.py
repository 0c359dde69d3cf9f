"""What a window would have taken on other workers: its tasks, simulated with their recorded durations."""
