"""What retention keeps of runs and removes: pinned windows, quotas, a retention that was shortened."""
