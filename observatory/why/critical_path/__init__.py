"""What each step of a window had to wait for, from its last task backwards."""
