"""What is found about tasks."""
