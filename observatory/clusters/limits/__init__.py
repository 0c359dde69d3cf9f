"""How much a project may send and have."""
