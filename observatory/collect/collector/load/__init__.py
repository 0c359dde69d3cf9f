"""How much a collector does at once, and how often."""
