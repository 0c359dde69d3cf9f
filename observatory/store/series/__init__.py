"""What series are told by, and what their samples mean."""
