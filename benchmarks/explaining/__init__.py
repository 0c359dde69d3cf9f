"""What is expected of findings of scenarios."""
