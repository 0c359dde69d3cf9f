"""What is told of a failed task: exceptions and their causes, what was called, and with what."""
