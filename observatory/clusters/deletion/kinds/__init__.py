"""What of this room can be deleted, a module each."""
