"""Clients: what they send, fetch and restart, and the code that they run themselves."""
