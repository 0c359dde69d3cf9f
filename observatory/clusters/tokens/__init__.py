"""Tokens for agents, which send records, and for programs, which read them."""
