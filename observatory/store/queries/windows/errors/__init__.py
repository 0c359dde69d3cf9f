"""What went wrong in a window: errors of tasks, and what ended the code of its run."""
