"""What is found in the records of a window, from which kinds of findings draw conclusions."""
