"""What is found about workers."""
