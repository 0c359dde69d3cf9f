"""The store has no Django models. With this module Django sends `post_migrate` for it (apps.py)."""
