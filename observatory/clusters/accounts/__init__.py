"""Signing in, and what happens to an account around it."""
