"""What a window is simulated from: its tasks, workers and client, as they were recorded."""
